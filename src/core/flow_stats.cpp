// SPDX-License-Identifier: BSD-3-Clause
//
// What can be seen of a flow: counters and the check of its invariants.

#include "core/flow.hpp"

namespace be::core {

static void add_stall(StallStats &sum, const StallStats &other)
{
    sum.count += other.count;
    sum.ns += other.ns;
}

void FlowCounters::add(const FlowCounters &other)
{
    messages_sent += other.messages_sent;
    messages_received += other.messages_received;
    requests_sent += other.requests_sent;
    requests_received += other.requests_received;
    answers += other.answers;
    cell_writes += other.cell_writes;
    duplicates += other.duplicates;
    gaps += other.gaps;
    overdrafts += other.overdrafts;
    refused_updates += other.refused_updates;
    bulk_bytes += other.bulk_bytes;
    revokes += other.revokes;
    wakes += other.wakes;
    add_stall(credit_stall, other.credit_stall);
    add_stall(bytes_stall, other.bytes_stall);
    add_stall(window_stall, other.window_stall);
}

/* Counters that the hot path does not keep are made up here. */
FlowCounters Flow::counters(uint32_t index) const
{
    const Peer &peer      = m_peers[index];
    FlowCounters counters = peer.counters;

    counters.messages_sent   = peer.sent.taken();
    counters.refused_updates = peer.account.refused();
    return counters;
}

PeerStats Flow::stats(uint32_t index) const
{
    PeerStats stats;

    if (!member(index)) {
        return stats;
    }

    const Peer &peer = m_peers[index];

    static_cast<FlowCounters &>(stats) = counters(index);
    stats.credit_granted               = peer.account.granted();
    stats.credit_used                  = peer.account.used();
    stats.peer_granted                 = m_pool.granted(index);
    stats.peer_arrived                 = m_pool.arrived(index);
    stats.credit_returned              = peer.account.returned();
    stats.peer_returned                = m_pool.given_back(index);
    stats.floor                        = m_pool.floor(index);
    stats.bulk_queued                  = peer.bulk_queued[0] + peer.bulk_queued[1];
    if (m_bytes.enabled()) {
        uint32_t channel = writes_of(index);

        stats.bytes_granted = uint64_t{peer.bytes[0].available()} * m_config.bytes.unit;
        stats.bytes_outstanding = uint64_t{m_bytes.granted(channel) -
                                           m_bytes.arrived(channel)} *
                                  m_config.bytes.unit;
        stats.bytes_returned = uint64_t{peer.bytes[0].returned()} * m_config.bytes.unit;
        if (m_bytes.member(reads_of(index))) {
            stats.bytes_reading = uint64_t{m_bytes.granted(reads_of(index)) -
                                           m_bytes.arrived(reads_of(index))} *
                                  m_config.bytes.unit;
        }
    }
    stats.bulk_outstanding = peer.window.outstanding();
    return stats;
}

FlowStats Flow::stats() const
{
    FlowStats stats;

    stats.add(m_departed);
    for (uint32_t index = 0; index < m_peers.size(); ++index) {
        if (member(index)) {
            stats.add(counters(index));
            ++stats.peers;
        }
    }
    stats.active_peers     = m_pool.active_peers();
    stats.capacity         = m_pool.capacity();
    stats.posted           = m_pool.posted();
    stats.outstanding      = m_pool.outstanding();
    stats.share            = m_pool.share();
    stats.bulk_outstanding = m_port.outstanding();
    if (m_bytes.enabled()) {
        stats.bytes_outstanding = uint64_t{m_bytes.outstanding()} * m_config.bytes.unit;
        stats.bytes_running     = uint64_t{m_bytes.running()} * m_config.bytes.unit;
        stats.bytes_late        = uint64_t{m_bytes.late()} * m_config.bytes.unit;
        stats.bytes_budget      = uint64_t{m_bytes.budget()} * m_config.bytes.unit;
        stats.late              = m_bytes.lates();
        stats.path_delay_ns     = m_bytes.path_delay_ns();
    }
    return stats;
}

std::string Flow::check() const
{
    uint64_t outstanding = 0;
    uint32_t bulk_peers  = 0;

    if (std::string broken = m_pool.check(); !broken.empty()) {
        return broken;
    }

    if (std::string broken = m_bytes.check(); !broken.empty()) {
        return broken;
    }

    for (uint32_t index = 0; index < m_peers.size(); ++index) {
        const Peer &peer = m_peers[index];

        if (!member(index)) {
            continue;
        }
        if (serial_less(peer.account.granted(), peer.account.used())) {
            return "more credit was used than the peer granted";
        }
        if (peer.window.outstanding() > m_port.config().peer) {
            return "more bulk is outstanding toward a peer than its window";
        }
        outstanding += peer.window.outstanding();
        for (const ByteAccount &account : peer.bytes) {
            if (serial_less(account.granted(), account.used())) {
                return "more byte credit was used than was granted";
            }
        }
        bulk_peers += (peer.window.outstanding() != 0) || (peer.bulk_queued[0] != 0) ||
                      (peer.bulk_queued[1] != 0);
    }

    if (outstanding != m_port.outstanding()) {
        return "the port's outstanding bulk has drifted";
    }
    if (outstanding > m_port.config().port) {
        return "more bulk is outstanding than the port's window";
    }
    if (bulk_peers != m_bulk_peers) {
        return "the count of peers with bulk has drifted";
    }
    return {};
}

} // namespace be::core
