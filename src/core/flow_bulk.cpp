// SPDX-License-Identifier: BSD-3-Clause
//
// Bulk: the scheduler picks the peer, the windows say whether it may.

#include "core/flow.hpp"

#include <algorithm>

namespace be::core {

void Flow::update_bulk_active(Peer &peer)
{
    bool active = (peer.bulk_queued != 0) || (peer.window.outstanding() != 0);

    if (active != peer.bulk_active) {
        peer.bulk_active = active;
        m_bulk_peers += active ? 1 : -1;
        m_port.set_active(m_bulk_peers);
    }
}

void Flow::bulk_queued(uint32_t index, uint64_t bytes)
{
    if (!member(index) || (bytes == 0)) {
        return;
    }
    m_peers[index].bulk_queued += bytes;
    m_scheduler.activate(index);
    update_bulk_active(m_peers[index]);
}

void Flow::bulk_cancelled(uint32_t index, uint64_t bytes)
{
    if (!member(index)) {
        return;
    }

    Peer &peer = m_peers[index];

    peer.bulk_queued -= std::min(bytes, peer.bulk_queued);
    if (peer.bulk_queued == 0) {
        m_scheduler.deactivate(index);
        peer.window_stall_ns = not_stalled;
    }
    update_bulk_active(peer);
}

BulkGrant Flow::next_bulk(uint64_t now_ns)
{
    while (std::optional<Scheduler::Turn> turn = m_scheduler.next()) {
        Peer &peer       = m_peers[turn->peer];
        uint64_t want    = std::min<uint64_t>(peer.bulk_queued, turn->bytes);
        uint32_t granted = m_port.admit(peer.window, want);

        if (granted == 0) {
            start_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
            if (!m_port.port_has_room(want)) {
                return {}; /* keeps its turn */
            }
            m_scheduler.deactivate(turn->peer); /* until some of its own completes */
            continue;
        }

        end_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
        peer.counters.bulk_bytes += granted;
        peer.bulk_queued -= granted;
        m_scheduler.charge(turn->peer, granted);
        if (peer.bulk_queued == 0) {
            m_scheduler.deactivate(turn->peer);
        }
        return {.peer = turn->peer, .bytes = granted};
    }
    return {};
}

void Flow::bulk_done(uint32_t index, uint64_t bytes)
{
    if (!member(index)) {
        return;
    }

    Peer &peer = m_peers[index];

    m_port.complete(peer.window, bytes);
    if (peer.bulk_queued != 0) {
        m_scheduler.activate(index);
    }
    update_bulk_active(peer);
}

} // namespace be::core
