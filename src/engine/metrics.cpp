// SPDX-License-Identifier: BSD-3-Clause
//
// What can be watched: one list for a fabric, one for a peer. Names are those of the documentation; values that
// only grow are counters, the others say so in their sentence.

#include "engine/fabric.hpp"

#include <algorithm>

namespace be::engine {

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
    const auto say = [&](const char *name, const char *unit, const char *help,
                         std::uint64_t value) { func(arg, name, unit, help, value); };

    const auto in_state = [&](Peer::State state) {
        return static_cast<std::uint64_t>(
                std::count_if(m_peers.begin(), m_peers.end(), [&](const auto &peer) {
                    return peer != nullptr && peer->state == state;
                }));
    };

    say("messages_sent", "count", "active messages posted", m_counters.messages_sent);
    say("messages_received", "count", "active messages delivered",
        m_counters.messages_received);
    say("bytes_sent", "bytes", "payload of active messages posted",
        m_counters.bytes_sent);
    say("bytes_received", "bytes", "payload of active messages delivered",
        m_counters.bytes_received);
    say("bytes_put", "bytes", "written into peers' memory", m_counters.bytes_put);
    say("bytes_got", "bytes", "read from peers' memory", m_counters.bytes_got);
    say("bytes_copied", "bytes", "copied through staging buffers",
        m_counters.bytes_copied);
    say("messages_dropped", "count",
        "arrivals that were malformed, repeated or of a peer that is gone",
        m_counters.messages_dropped);
    say("receives_kept", "count", "receive buffers the application kept",
        m_counters.receives_kept);
    say("receives_copied", "count",
        "messages copied out because no receive buffer was left to replace theirs",
        m_counters.receives_copied);
    say("staging_empty", "count", "sends put off for want of a staging buffer",
        m_counters.staging_empty);
    say("queue_full", "count", "sends put off for want of a send queue slot",
        m_counters.queue_full);

    say("members", "count", "interfaces that share all this now", m_member_count);
    say("holds", "count", "times that a peer was told not to send to an interface",
        m_counters.holds);
    say("peers", "count", "now connected or connecting", flow.peers);
    say("peers_failed", "count", "lost without a goodbye", m_counters.peers_failed);
    say("peers_departed", "count", "that said goodbye", m_counters.peers_departed);
    say("queue_pairs", "count", "now existing", m_queues.size() - m_free_queues.size());
    say("peers_connecting", "count", "whose queue pairs are not connected yet now",
        in_state(Peer::State::connecting));
    say("peers_ready", "count", "whose queue pairs are connected now",
        in_state(Peer::State::ready));
    say("peers_draining", "count", "whose queue pairs have failed and are emptied now",
        in_state(Peer::State::draining));
    say("sends_outstanding", "count",
        "work requests posted now and not known to be complete", m_sends_outstanding);

    say("credit_capacity", "count", "receives that should be posted now", flow.capacity);
    say("credit_posted", "count", "receives posted now", flow.posted);
    say("credit_outstanding", "count", "messages granted to peers now and not arrived",
        flow.outstanding);
    say("credit_share", "count", "messages that an active peer is granted in advance now",
        flow.share);
    say("credit_cells_written", "count", "one-sided credit updates posted",
        m_counters.cells_written);
    say("credit_requests_sent", "count", "requests for credit", flow.requests_sent);
    say("credit_requests_received", "count", "requests of peers for credit",
        flow.requests_received);
    say("credit_answers", "count", "answers to requests of peers", flow.answers);
    say("credit_stalls", "count", "times that messages waited for credit",
        flow.credit_stall.count);
    say("credit_stall_time", "ns", "time that messages waited for credit",
        flow.credit_stall.ns);
    say("credit_revokes", "count", "times that credit was called back, of any kind",
        flow.revokes);
    say("wakes", "count", "times that a peer was asked to wake us when it grants bytes",
        flow.wakes);
    say("byte_credit_budget", "bytes",
        "that may be under way to the port; 0: there is no byte credit",
        flow.bytes_budget);
    say("byte_credit_outstanding", "bytes", "granted to peers now and not arrived",
        flow.bytes_outstanding);
    say("byte_credit_running", "bytes", "of those, to peers that want more",
        flow.bytes_running);
    say("byte_credit_late", "bytes", "of those, to peers that are late", flow.bytes_late);
    say("byte_credit_lates", "count", "times that a peer was late", flow.late);
    say("byte_credit_path_delay", "ns", "from a grant to its use, as measured now",
        flow.path_delay_ns);
    say("byte_credit_stalls", "count",
        "times that bulk or large messages waited for byte credit",
        flow.bytes_stall.count);
    say("byte_credit_stall_time", "ns", "time that they waited", flow.bytes_stall.ns);
    say("messages_parked", "count", "large messages put off for want of byte credit",
        m_counters.messages_parked);
    say("window_stalls", "count", "times that bulk waited for the window",
        flow.window_stall.count);
    say("window_stall_time", "ns", "time that bulk waited for the window",
        flow.window_stall.ns);
    say("bulk_outstanding", "bytes", "bulk posted now and not complete",
        flow.bulk_outstanding);
    say("rnr", "count",
        "receiver-not-ready errors: anything but 0 is a fault of flow control",
        m_counters.rnr);

    say("receive_buffers", "count", "receive buffers there are now", buffers.size);
    say("receive_buffers_used", "count", "receive buffers posted or kept now",
        buffers.in_use);
    say("staging_buffers", "count", "staging buffers there are now", staging.size);
    say("memory_registered", "bytes", "in arenas of the device now",
        local.mapped + remote.mapped);
    say("memory_registrations", "count", "arena regions registered with the device",
        local.registrations + remote.registrations);

    say("registrations", "count",
        "registrations with the device since it was opened, of arenas and of user memory",
        m_device->registrations());

    say("control_connections", "count", "side-channel connections of the process now",
        control.connections);
    say("control_rejected", "count",
        "side-channel connections of the process that were turned away", rejected);
}

void Fabric::link_metrics(const Link &link, be_metric_func_t func, void *arg) const
{
    const Peer &peer = link.peer;
    if (peer.state == Peer::State::dead) {
        return;
    }
    const core::PeerStats flow = m_flow.stats(peer.index);
    const auto say             = [&](const char *name, const char *unit, const char *help,
                         std::uint64_t value) { func(arg, name, unit, help, value); };
    say("endpoints", "count", "endpoints to this interface of the peer now",
        link.references);
    say("pending", "count", "operations queued on them now", link.queued);
    say("credit_granted", "count", "messages the peer granted to us, total (32 bits)",
        flow.credit_granted);
    say("credit_used", "count", "messages sent to the peer, total (32 bits)",
        flow.credit_used);
    say("peer_granted", "count", "messages we granted to the peer, total (32 bits)",
        flow.peer_granted);
    say("peer_arrived", "count", "messages that arrived from the peer, total (32 bits)",
        flow.peer_arrived);
    say("credit_stalls", "count", "times that messages waited for credit",
        flow.credit_stall.count);
    say("credit_stall_time", "ns", "time that messages waited for credit",
        flow.credit_stall.ns);
    say("credit_requests_sent", "count", "requests for credit, of any kind",
        flow.requests_sent);
    say("credit_requests_received", "count", "its requests for message credit",
        flow.requests_received);
    say("credit_revokes", "count", "times that credit was called back from it",
        flow.revokes);
    say("credit_returned", "count", "messages given back to it, total",
        flow.credit_returned);
    say("peer_returned", "count", "messages that it gave back, total",
        flow.peer_returned);
    say("wakes", "count", "times that it was asked to wake us", flow.wakes);
    say("byte_credit_held", "bytes", "granted by it to us now and not used",
        flow.bytes_granted);
    say("byte_credit_outstanding", "bytes", "granted by us to it now and not arrived",
        flow.bytes_outstanding);
    say("byte_credit_reading", "bytes", "under way from its memory now",
        flow.bytes_reading);
    say("byte_credit_returned", "bytes", "given back to it, total", flow.bytes_returned);
    say("byte_credit_stalls", "count",
        "times that bulk or large messages waited for byte credit",
        flow.bytes_stall.count);
    say("byte_credit_stall_time", "ns", "time that they waited", flow.bytes_stall.ns);
    say("messages_parked", "count", "large messages waiting for byte credit now",
        peer.parked.size());
    say("window_stalls", "count", "times that bulk waited for the window",
        flow.window_stall.count);
    say("window_stall_time", "ns", "time that bulk waited for the window",
        flow.window_stall.ns);
    say("bulk_bytes", "bytes", "bulk and large messages admitted to it, total",
        flow.bulk_bytes);
    say("bulk_queued", "bytes", "bulk waiting now", flow.bulk_queued);
    say("bulk_outstanding", "bytes", "bulk posted now and not complete",
        flow.bulk_outstanding);
    say("messages_outstanding", "count", "message queue slots in use now",
        peer.messages.posted() - peer.messages.retired());
}

} // namespace be::engine
