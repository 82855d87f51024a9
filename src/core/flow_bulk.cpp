// SPDX-License-Identifier: BSD-3-Clause
//
// Bulk: the scheduler picks the peer, byte credit and the windows say whether it may.

#include "core/flow.hpp"

#include <algorithm>

namespace be::core {

void Flow::update_bulk_active(Peer &peer)
{
    bool active = (peer.bulk_queued[0] != 0) || (peer.bulk_queued[1] != 0) ||
                  (peer.window.outstanding() != 0);

    if (active != peer.bulk_active) {
        peer.bulk_active = active;
        m_bulk_peers += active ? 1 : -1;
        m_port.set_active(m_bulk_peers);
        if (!active) { /* the others' parts of the port have grown */
            resume_window_waits();
        }
    }
}

void Flow::resume_window_waits()
{
    while (!m_window_waits.empty()) {
        m_resumes.push_back(m_window_waits.pop_front());
    }
}

void Flow::bulk_queued(uint32_t index, uint64_t bytes, BulkKind kind)
{
    if (!member(index) || (bytes == 0)) {
        return;
    }
    m_peers[index].bulk_queued[static_cast<unsigned>(kind)] += bytes;
    update_byte_wait(index);
    m_scheduler.activate(2 * index + static_cast<unsigned>(kind));
    update_bulk_active(m_peers[index]);
}

void Flow::bulk_queued(uint32_t index, uint64_t bytes, BulkKind kind, uint64_t now_ns,
                       Actions &actions)
{
    advance(now_ns);
    bulk_queued(index, bytes, kind);
    if (m_bytes.enabled() && member(index)) {
        if (kind == BulkKind::write) {
            settle_demand(index);
        } else {
            ask_reads(index, now_ns);
        }
    }
    drain(actions);
}

void Flow::bulk_cancelled(uint32_t index, uint64_t bytes, BulkKind kind)
{
    if (!member(index)) {
        return;
    }

    Peer &peer       = m_peers[index];
    uint64_t &queued = peer.bulk_queued[static_cast<unsigned>(kind)];

    queued -= std::min(bytes, queued);
    if (queued == 0) {
        m_scheduler.deactivate(2 * index + static_cast<unsigned>(kind));
        peer.window_stall_ns = not_stalled;
        if (peer.waiting.first == 0) {
            peer.bytes_stall_ns = not_stalled;
        }
        update_byte_wait(index);
    }
    update_bulk_active(peer);
    if (m_bytes.enabled() && (kind == BulkKind::write)) {
        return_surplus(index);
    }
}

/* Bytes that credit allows now. While a large message waits and it is its turn, writes
 * leave it what comes. */
uint64_t Flow::bulk_allowance(const Peer &peer, BulkKind kind) const
{
    if (!m_bytes.enabled()) {
        return ~uint64_t{0};
    }
    if ((kind == BulkKind::write) && (peer.waiting.first != 0) && peer.message_turn) {
        return 0;
    }
    return uint64_t{peer.bytes[static_cast<unsigned>(kind)].available()} *
           m_config.bytes.unit;
}

/* Empty: the peer may not now, and has left the round. No bytes: the port is full, and
 * the peer keeps its turn. */
std::optional<BulkGrant> Flow::admit_bulk(const Scheduler::Turn &turn, uint64_t now_ns)
{
    uint32_t index   = turn.peer / 2;
    auto kind        = static_cast<BulkKind>(turn.peer % 2);
    Peer &peer       = m_peers[index];
    uint64_t &queued = peer.bulk_queued[static_cast<unsigned>(kind)];
    bool own_credit  = m_bytes.enabled() && (kind == BulkKind::read);
    uint64_t want = std::min({queued, uint64_t{turn.bytes}, bulk_allowance(peer, kind)});

    if (want == 0) {
        start_stall(peer.bytes_stall_ns, peer.counters.bytes_stall, now_ns);
        m_scheduler.deactivate(turn.peer); /* until credit comes */
        return std::nullopt;
    }

    uint32_t granted = own_credit ? static_cast<uint32_t>(want) :
                                    m_port.admit(peer.window, want);

    if (granted == 0) {
        start_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
        if (!m_port.port_has_room(want)) {
            return BulkGrant{};
        }
        m_scheduler.deactivate(turn.peer); /* until some of its own completes */
        return std::nullopt;
    }

    end_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
    end_stall(peer.bytes_stall_ns, peer.counters.bytes_stall, now_ns);
    if (m_bytes.enabled()) {
        (void)peer.bytes[static_cast<unsigned>(kind)].take(units(granted));
        peer.message_turn |= (kind == BulkKind::write);
    }
    peer.counters.bulk_bytes += granted;
    queued -= granted;
    m_scheduler.charge(turn.peer, granted);
    if (queued == 0) {
        m_scheduler.deactivate(turn.peer);
        update_byte_wait(index);
    }
    if (m_bytes.enabled() && (kind == BulkKind::write)) {
        return_leftover(index);
    }
    update_bulk_active(peer);
    return BulkGrant{.peer = index, .bytes = granted, .kind = kind};
}

BulkGrant Flow::next_bulk(uint64_t now_ns)
{
    while (std::optional<Scheduler::Turn> turn = m_scheduler.next()) {
        if (std::optional<BulkGrant> grant = admit_bulk(*turn, now_ns)) {
            return *grant;
        }
    }
    return {};
}

Notice Flow::stamp_bulk(uint32_t index)
{
    Peer &peer      = m_peers[index];
    uint32_t demand = peer.bytes[0].demand(wanted_units(peer));

    peer.bytes[0].report(demand);
    m_byte_requests.erase(index);
    return {.kind = Notice::bulk, .value = demand};
}

bool Flow::admit_write(uint32_t index, uint32_t bytes)
{
    Peer &peer      = m_peers[index];
    uint64_t amount = charge(bytes);

    if ((peer.bulk_queued[0] != 0) || (amount > m_config.window.quantum) ||
        (bulk_allowance(peer, BulkKind::write) < amount) ||
        (m_port.admit(peer.window, amount) == 0)) {
        return false;
    }
    peer.message_turn = true;
    (void)peer.bytes[0].take(units(amount));
    peer.counters.bulk_bytes += amount;
    update_bulk_active(peer);
    return true;
}

void Flow::bulk_reverted(uint32_t index, uint64_t bytes, BulkKind kind, uint64_t now_ns,
                         Actions &actions)
{
    advance(now_ns);
    if (!m_bytes.enabled()) {
        bulk_done(index, bytes);
    } else if (member(index)) {
        ByteAccount &account = m_peers[index].bytes[static_cast<unsigned>(kind)];

        account.return_taken(units(bytes));
        if (kind == BulkKind::write) {
            m_byte_returns.push_back(index);
            bulk_done(index, bytes);
        } else {
            (void)m_bytes.returned(reads_of(index), account.returned(), now_ns);
            collect_bytes(now_ns);
        }
    }
    drain(actions);
}

void Flow::bulk_done(uint32_t index, uint64_t bytes)
{
    if (!member(index)) {
        return;
    }

    Peer &peer = m_peers[index];

    m_port.complete(peer.window, bytes);
    for (unsigned kind : {0u, 1u}) {
        if (peer.bulk_queued[kind] != 0) {
            m_scheduler.activate(2 * index + kind);
        }
    }
    update_bulk_active(peer);
    resume_window_waits();
}

void Flow::read_done(uint32_t index, uint64_t bytes, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    if (!m_bytes.enabled()) {
        bulk_done(index, bytes);
    } else if (member(index)) {
        (void)m_bytes.arrived(reads_of(index), units(bytes), now_ns);
        collect_bytes(now_ns);
    }
    drain(actions);
}

} // namespace be::core
