// SPDX-License-Identifier: BSD-3-Clause
//
// What can be watched: one list for a fabric, one for a peer. docs/operations.md has those of a fabric.

#include "engine/fabric.hpp"

#include <algorithm>

namespace be::engine {
namespace {

// Hands metrics to whoever wants to know: `total` what only grows, `now` what goes up and down.
class Teller {
public:
    Teller(be_metric_func_t func, void *arg) noexcept : m_func(func), m_arg(arg)
    {
    }

    void
    total(const char *name, const char *unit, const char *help, std::uint64_t value) const
    {
        const be_metric_t metric{name, unit, help, BE_METRIC_TOTAL, value};
        m_func(m_arg, &metric);
    }

    void
    now(const char *name, const char *unit, const char *help, std::uint64_t value) const
    {
        const be_metric_t metric{name, unit, help, BE_METRIC_NOW, value};
        m_func(m_arg, &metric);
    }

private:
    const be_metric_func_t m_func;
    void *const m_arg;
};

} // namespace

void Fabric::metrics(be_metric_func_t func, void *arg) const
{
    const core::FlowStats flow      = m_flow.stats();
    const memory::PoolStats buffers = m_receives.buffers();
    const memory::PoolStats staging = m_staging.stats();
    const memory::ArenaStats local  = m_device->local_memory().stats();
    const memory::ArenaStats remote = m_device->remote_memory().stats();
    const control::Counters control = m_node->counters();
    std::uint64_t rejected          = 0;
    for (const std::uint64_t count : control.rejected) {
        rejected += count;
    }
    const Teller tell(func, arg);

    const auto in_state = [&](Peer::State state) {
        return static_cast<std::uint64_t>(
                std::count_if(m_peers.begin(), m_peers.end(), [&](const auto &peer) {
                    return peer != nullptr && peer->state == state;
                }));
    };

    tell.total("messages_sent", "count", "active messages posted",
               m_counters.messages_sent);
    tell.total("messages_received", "count", "active messages delivered",
               m_counters.messages_received);
    tell.total("bytes_sent", "bytes", "payload of active messages posted",
               m_counters.bytes_sent);
    tell.total("bytes_received", "bytes", "payload of active messages delivered",
               m_counters.bytes_received);
    tell.total("bytes_put", "bytes", "written into peers' memory", m_counters.bytes_put);
    tell.total("bytes_got", "bytes", "read from peers' memory", m_counters.bytes_got);
    tell.total("bytes_copied", "bytes", "copied through staging buffers",
               m_counters.bytes_copied);
    tell.total("messages_dropped", "count",
               "arrivals that were malformed, repeated or of a peer that is gone",
               m_counters.messages_dropped);
    tell.total("receives_kept", "count", "receive buffers the application kept",
               m_counters.receives_kept);
    tell.total("receives_copied", "count",
               "messages copied out because no receive buffer was left to replace theirs",
               m_counters.receives_copied);
    tell.total("staging_empty", "count", "sends put off for want of a staging buffer",
               m_counters.staging_empty);
    tell.total("queue_full", "count", "sends put off for want of a send queue slot",
               m_counters.queue_full);

    tell.now("members", "count", "interfaces that share all this now", m_member_count);
    tell.total("holds", "count", "times that a peer was told not to send to an interface",
               m_counters.holds);
    tell.now("peers", "count", "now connected or connecting", flow.peers);
    tell.total("peers_failed", "count", "lost without a goodbye",
               m_counters.peers_failed);
    tell.total("peers_departed", "count", "that said goodbye", m_counters.peers_departed);
    tell.now("queue_pairs", "count", "now existing", m_queues.size());
    tell.now("peers_connecting", "count", "whose queue pairs are not connected yet now",
             in_state(Peer::State::connecting));
    tell.now("peers_ready", "count", "whose queue pairs are connected now",
             in_state(Peer::State::ready));
    tell.now("peers_recovering", "count", "whose queue pairs are replaced now",
             in_state(Peer::State::recovering));
    tell.total("port_errors", "count", "times that the port went down",
               m_counters.port_errors);
    tell.total("channels_lost", "count", "times that the side channel of a peer was cut",
               m_counters.channels_lost);
    tell.total("paths_lost", "count", "times that the queue pairs of a peer failed",
               m_counters.paths_lost);
    tell.total("silences", "count",
               "of these, times that the device completed nothing for long",
               m_counters.silences);
    tell.total("recoveries", "count", "times that they were replaced",
               m_counters.recoveries);
    tell.total("recovery_time", "ns",
               "from the failure until data flowed again, over all",
               m_counters.recovery_time);
    tell.total("replayed", "count", "work requests posted once more after a failure",
               m_counters.replayed);
    tell.now("peers_on_tcp", "count", "whose data goes over the side channel now",
             static_cast<std::uint64_t>(
                     std::count_if(m_peers.begin(), m_peers.end(), [](const auto &peer) {
                         return peer != nullptr && peer->tcp != nullptr;
                     })));
    tell.total("fallbacks", "count", "times that a peer went over to TCP",
               m_counters.fallbacks);
    tell.total("fallback_returns", "count", "times that it came back to RDMA",
               m_counters.returns);
    tell.now("peers_draining", "count",
             "whose queue pairs have failed and are emptied now",
             in_state(Peer::State::draining));
    tell.now("sends_outstanding", "count",
             "work requests posted now and not known to be complete",
             m_sends.outstanding());

    tell.now("credit_capacity", "count", "receives that should be posted now",
             flow.capacity);
    tell.now("credit_posted", "count", "receives posted now", flow.posted);
    tell.now("credit_outstanding", "count",
             "messages granted to peers now and not arrived", flow.outstanding);
    tell.now("credit_share", "count",
             "messages that an active peer is granted in advance now", flow.share);
    tell.total("credit_cells_written", "count", "one-sided credit updates posted",
               m_counters.cells_written);
    tell.total("credit_requests_sent", "count", "requests for credit",
               flow.requests_sent);
    tell.total("credit_requests_received", "count", "requests of peers for credit",
               flow.requests_received);
    tell.total("credit_answers", "count", "answers to requests of peers", flow.answers);
    tell.total("credit_stalls", "count", "times that messages waited for credit",
               flow.credit_stall.count);
    tell.total("credit_stall_time", "ns", "time that messages waited for credit",
               flow.credit_stall.ns);
    tell.total("credit_revokes", "count",
               "times that credit was called back, of any kind", flow.revokes);
    tell.total("wakes", "count",
               "times that a peer was asked to wake us when it grants bytes", flow.wakes);
    tell.now("byte_credit_budget", "bytes",
             "that may be under way to the port; 0: there is no byte credit",
             flow.bytes_budget);
    tell.now("byte_credit_outstanding", "bytes", "granted to peers now and not arrived",
             flow.bytes_outstanding);
    tell.now("byte_credit_running", "bytes", "of those, to peers that want more",
             flow.bytes_running);
    tell.now("byte_credit_late", "bytes", "of those, to peers that are late",
             flow.bytes_late);
    tell.total("byte_credit_lates", "count", "times that a peer was late", flow.late);
    tell.now("byte_credit_path_delay", "ns", "from a grant to its use, as measured now",
             flow.path_delay_ns);
    tell.total("byte_credit_stalls", "count",
               "times that bulk or large messages waited for byte credit",
               flow.bytes_stall.count);
    tell.total("byte_credit_stall_time", "ns", "time that they waited",
               flow.bytes_stall.ns);
    tell.total("messages_parked", "count",
               "large messages put off for want of byte credit",
               m_counters.messages_parked);
    tell.total("window_stalls", "count", "times that bulk waited for the window",
               flow.window_stall.count);
    tell.total("window_stall_time", "ns", "time that bulk waited for the window",
               flow.window_stall.ns);
    tell.now("bulk_outstanding", "bytes", "bulk posted now and not complete",
             flow.bulk_outstanding);
    tell.total("rnr", "count",
               "receiver-not-ready errors: anything but 0 is a fault of flow control",
               m_counters.rnr);

    tell.now("receive_buffers", "count", "receive buffers there are now", buffers.size);
    tell.now("receive_buffers_used", "count", "receive buffers posted or kept now",
             buffers.in_use);
    tell.now("staging_buffers", "count", "staging buffers there are now", staging.size);
    tell.now("memory_registered", "bytes", "in arenas of the device now",
             local.mapped + remote.mapped);
    tell.total("memory_registrations", "count",
               "arena regions registered with the device",
               local.registrations + remote.registrations);

    tell.total("registrations", "count",
               "registrations with the device since it was opened, of arenas and of user "
               "memory",
               m_device->registrations());

    tell.now("control_connections", "count",
             "side-channel connections of the process now", control.connections);
    tell.total("control_rejected", "count",
               "side-channel connections of the process that were turned away", rejected);
    m_record.metrics(func, arg);
}

void Fabric::link_metrics(const Link &link, be_metric_func_t func, void *arg) const
{
    const Peer &peer = link.peer;
    if (peer.state == Peer::State::dead) {
        return;
    }
    const core::PeerStats flow = m_flow.stats(peer.index);
    const Teller tell(func, arg);
    tell.now("endpoints", "count", "endpoints to this interface of the peer now",
             link.references);
    tell.now("pending", "count", "operations queued on them now", link.queued);
    tell.total("credit_granted", "count",
               "messages the peer granted to us, total (32 bits)", flow.credit_granted);
    tell.total("credit_used", "count", "messages sent to the peer, total (32 bits)",
               flow.credit_used);
    tell.total("peer_granted", "count",
               "messages we granted to the peer, total (32 bits)", flow.peer_granted);
    tell.total("peer_arrived", "count",
               "messages that arrived from the peer, total (32 bits)", flow.peer_arrived);
    tell.total("credit_stalls", "count", "times that messages waited for credit",
               flow.credit_stall.count);
    tell.total("credit_stall_time", "ns", "time that messages waited for credit",
               flow.credit_stall.ns);
    tell.total("credit_requests_sent", "count", "requests for credit, of any kind",
               flow.requests_sent);
    tell.total("credit_requests_received", "count", "its requests for message credit",
               flow.requests_received);
    tell.total("credit_revokes", "count", "times that credit was called back from it",
               flow.revokes);
    tell.total("credit_returned", "count", "messages given back to it, total",
               flow.credit_returned);
    tell.total("peer_returned", "count", "messages that it gave back, total",
               flow.peer_returned);
    tell.total("wakes", "count", "times that it was asked to wake us", flow.wakes);
    tell.now("byte_credit_held", "bytes", "granted by it to us now and not used",
             flow.bytes_granted);
    tell.now("byte_credit_outstanding", "bytes",
             "granted by us to it now and not arrived", flow.bytes_outstanding);
    tell.now("byte_credit_reading", "bytes", "under way from its memory now",
             flow.bytes_reading);
    tell.total("byte_credit_returned", "bytes", "given back to it, total",
               flow.bytes_returned);
    tell.total("byte_credit_stalls", "count",
               "times that bulk or large messages waited for byte credit",
               flow.bytes_stall.count);
    tell.total("byte_credit_stall_time", "ns", "time that they waited",
               flow.bytes_stall.ns);
    tell.now("messages_parked", "count", "large messages waiting for byte credit now",
             peer.parked.size());
    tell.total("window_stalls", "count", "times that bulk waited for the window",
               flow.window_stall.count);
    tell.total("window_stall_time", "ns", "time that bulk waited for the window",
               flow.window_stall.ns);
    tell.total("bulk_bytes", "bytes", "bulk and large messages admitted to it, total",
               flow.bulk_bytes);
    tell.now("bulk_queued", "bytes", "bulk waiting now", flow.bulk_queued);
    tell.now("bulk_outstanding", "bytes", "bulk posted now and not complete",
             flow.bulk_outstanding);
    tell.now("messages_outstanding", "count", "message queue slots in use now",
             peer.messages.posted() - peer.messages.retired());
    path_metrics(peer, func, arg);
}

std::size_t Fabric::show_peers(std::span<core::StatsPeer> rows) const noexcept
{
    return m_record.show(m_peers, rows);
}

} // namespace be::engine
