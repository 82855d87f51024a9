// SPDX-License-Identifier: BSD-3-Clause
//
// Byte credit: what arrives, what is asked for and what goes back, on both sides.

#include "core/flow.hpp"

#include <algorithm>

namespace be::core {

namespace {

constexpr unsigned cell_bits = 30; /* of a byte total */

} // namespace

/* --- large messages --- */

bool Flow::admit_message(uint32_t index, uint32_t bytes)
{
    if (!large(bytes)) {
        return admit_message(index);
    }
    return (m_peers[index].account.available() != 0) && admit_bytes(index, bytes) &&
           m_peers[index].account.take();
}

bool Flow::admit_bytes(uint32_t index, uint32_t bytes)
{
    if (!large(bytes)) {
        return true;
    }

    Peer &peer      = m_peers[index];
    uint64_t size   = charge(bytes);
    uint32_t amount = units(size);

    if ((peer.bytes[0].available() < amount) || !m_port.admit_whole(peer.window, size)) {
        return false;
    }
    (void)peer.bytes[0].take(amount);
    peer.counters.bulk_bytes += size;
    peer.waiting.all -= std::min(peer.waiting.all, size);
    peer.waiting.first = 0; /* blocked() says who is next */
    peer.asked_large -= (peer.asked_large != 0);
    peer.message_turn = (peer.asked_large != 0);
    update_bulk_active(peer);
    update_byte_wait(index);
    if (peer.bulk_queued[0] != 0) {
        m_scheduler.activate(writes_of(index));
        settle_demand(index); /* it may have used what writes had asked for */
    }
    return true;
}

void Flow::drop_waiting(uint32_t index)
{
    m_peers[index].waiting     = {};
    m_peers[index].asked_large = 0;
    m_window_waits.erase(index);
    if (m_bytes.enabled()) {
        update_byte_wait(index);
        return_surplus(index);
        if (m_peers[index].bulk_queued[0] != 0) {
            m_scheduler.activate(writes_of(index));
            m_pump_due = true;
        }
    }
}

void Flow::blocked(uint32_t index, const Waiting &waiting, uint64_t now_ns,
                   Actions &actions)
{
    if (!m_bytes.enabled() || (waiting.large == 0) || !member(index)) {
        blocked(index, waiting.small + waiting.large, now_ns, actions);
        return;
    }
    advance(now_ns);

    Peer &peer          = m_peers[index];
    uint32_t first      = units(charge(waiting.first));
    bool enough         = peer.bytes[0].available() >= first;
    uint32_t affordable = enough ? std::min(waiting.large,
                                            peer.bytes[0].available() / first) :
                                   0;

    peer.waiting = waiting;
    update_byte_wait(index);
    if (!enough) {
        start_stall(peer.bytes_stall_ns, peer.counters.bytes_stall, now_ns);
        return_leftover(index);
    }
    settle_demand(index);
    if (waiting.small + affordable == 0) {
        /* bytes come first */
    } else if (peer.account.available() == 0) {
        peer.blocked = true;
        start_stall(peer.credit_stall_ns, peer.counters.credit_stall, now_ns);
        if (affordable != 0) {
            peer.asked_large  = std::max(peer.asked_large, affordable);
            peer.message_turn = true;
        }
        ask_messages(index, waiting.small + affordable);
    } else if ((waiting.small != 0) ||
               m_port.whole_has_room(peer.window, charge(waiting.first))) {
        m_resumes.push_back(index); /* credit came before the driver said so */
    } else {
        start_stall(peer.window_stall_ns, peer.counters.window_stall, now_ns);
        m_window_waits.push_back(index);
    }
    drain(actions);
}

/* --- the sender's credit --- */

/* Does more than what is there wait for bytes of the peer's? */
bool Flow::starves(const Peer &peer) const
{
    return ((peer.waiting.first != 0) &&
            (peer.bytes[0].available() < units(charge(peer.waiting.first)))) ||
           ((peer.bulk_queued[0] != 0) && (bulk_allowance(peer, BulkKind::write) == 0));
}

/* Anything that takes bytes of the peer's makes its cell worth a look. */
void Flow::update_byte_wait(uint32_t index)
{
    const Peer &peer = m_peers[index];

    if (m_bytes.enabled() && ((peer.waiting.first != 0) || (peer.bulk_queued[0] != 0))) {
        m_byte_waits.push_back(index);
    } else {
        m_byte_waits.erase(index);
    }
}

void Flow::sleep(uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    for (uint32_t count = m_byte_waits.size(); count != 0; --count) {
        uint32_t index = next_byte_wait();

        if (!m_peers[index].wake_asked && starves(m_peers[index])) {
            m_peers[index].wake_asked = true;
            m_wakes.push_back(index);
        }
    }
    drain(actions);
}

void Flow::wake(uint32_t index, uint32_t total28, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    if (m_bytes.enabled() && member(index)) {
        uint32_t granted = m_bytes.granted(writes_of(index));

        if (Serial<notice_value_bits>::widen(granted, total28) != granted) {
            m_wokens.push_back(index);
        } else {
            m_peers[index].wake_wanted = true;
        }
    }
    drain(actions);
}

bool Flow::woken(uint32_t index, uint32_t total28, uint64_t now_ns, Actions &actions)
{
    bool grew = false;

    advance(now_ns);
    if (m_bytes.enabled() && member(index)) {
        ByteAccount &account = m_peers[index].bytes[0];

        m_peers[index].wake_asked = false;
        grew                      = account.update(
                                     Serial<notice_value_bits>::widen(account.granted(), total28));
        if (grew) {
            bytes_grew(index, BulkKind::write, now_ns);
        }
    }
    drain(actions);
    return grew;
}

uint32_t Flow::wanted_units(const Peer &peer) const
{
    return units(
            std::min<uint64_t>(peer.bulk_queued[0] + peer.waiting.all,
                               uint64_t{ByteAccount::max_step} * m_config.bytes.unit));
}

void Flow::settle_demand(uint32_t index)
{
    Peer &peer = m_peers[index];

    if (peer.bytes[0].request_due(wanted_units(peer))) {
        m_byte_requests.push_back(index);
    }
}

void Flow::ask_reads(uint32_t index, uint64_t now_ns)
{
    Peer &peer       = m_peers[index];
    uint32_t channel = reads_of(index);

    if (!m_bytes.member(channel)) {
        m_bytes.add(channel, now_ns);
        collect_bytes(now_ns);
    }

    uint32_t demand = peer.bytes[1].demand(units(
            std::min<uint64_t>(peer.bulk_queued[1],
                               uint64_t{ByteAccount::max_step} * m_config.bytes.unit)));

    peer.bytes[1].report(demand);
    m_bytes.request(channel, demand, now_ns);
    collect_bytes(now_ns);
}

/* Credit that is too little for the message that waits would stay for nothing: writes
 * use it, or it goes back. */
void Flow::return_leftover(uint32_t index)
{
    Peer &peer = m_peers[index];

    if ((peer.waiting.first == 0) || (peer.bytes[0].available() == 0) ||
        (peer.bytes[0].available() >= units(charge(peer.waiting.first)))) {
        return;
    }
    if (peer.bulk_queued[0] != 0) {
        peer.message_turn = false;
        m_scheduler.activate(writes_of(index));
        m_pump_due = true;
    } else if (peer.bytes[0].give_back(0) != 0) {
        m_byte_returns.push_back(index);
    }
}

/* Credit that was asked for by what has been cancelled goes back, and a bonus with it:
 * the peer takes what arrives for the oldest that it granted, and would find the rest
 * late. */
void Flow::return_surplus(uint32_t index)
{
    Peer &peer      = m_peers[index];
    uint32_t wanted = wanted_units(peer);

    if ((peer.bytes[0].surplus(wanted) != 0) && (peer.bytes[0].give_back(wanted) != 0)) {
        m_byte_returns.push_back(index);
    }
}

void Flow::bytes_grew(uint32_t index, BulkKind kind, uint64_t now_ns)
{
    Peer &peer = m_peers[index];

    if ((kind == BulkKind::read) || !starves(peer)) {
        end_stall(peer.bytes_stall_ns, peer.counters.bytes_stall, now_ns);
    }
    if (kind == BulkKind::write) {
        if ((peer.waiting.first != 0) &&
            (peer.bytes[0].available() >= units(charge(peer.waiting.first)))) {
            m_resumes.push_back(index);
        } else {
            return_leftover(index);
        }
        return_surplus(index);
        settle_demand(index);
    }
    if (peer.bulk_queued[static_cast<unsigned>(kind)] != 0) {
        m_scheduler.activate(2 * index + static_cast<unsigned>(kind));
        m_pump_due = true;
    }
}

bool Flow::credit_update(uint32_t index, const CreditCell &cell, uint64_t now_ns,
                         Actions &actions)
{
    bool grew = false;

    advance(now_ns);
    if (member(index)) {
        Peer &peer = m_peers[index];

        if (peer.account.update(cell.messages)) {
            grew = true;
            credit_grew(index, now_ns);
        }
        if (m_bytes.enabled() &&
            peer.bytes[0].update(
                    Serial<cell_bits>::widen(peer.bytes[0].granted(), cell.byte_units))) {
            grew = true;
            bytes_grew(index, BulkKind::write, now_ns);
        }
    }
    drain(actions);
    return grew;
}

void Flow::bytes_revoked(uint32_t index, uint32_t keep, uint64_t now_ns, Actions &actions)
{
    advance(now_ns);
    if (m_bytes.enabled() && member(index)) {
        Peer &peer = m_peers[index];

        if (wanted_units(peer) == 0) {
            peer.bytes[0].give_back(keep);
        }
        m_byte_returns.push_back(index); /* an answer is expected in any case */
    }
    drain(actions);
}

/* --- the receiver's pool --- */

bool Flow::bytes_arrived(uint32_t index, uint32_t bytes, uint64_t now_ns,
                         Actions &actions)
{
    bool covered = true;

    advance(now_ns);
    if (m_bytes.enabled()) {
        covered = m_bytes.arrived(writes_of(index), units(charge(bytes)), now_ns);
        if (!covered) {
            ++(member(index) ? m_peers[index].counters : m_departed).overdrafts;
        }
        collect_bytes(now_ns);
    }
    drain(actions);
    return covered;
}

void Flow::byte_request(uint32_t index, uint32_t demand28, uint64_t now_ns,
                        Actions &actions)
{
    advance(now_ns);
    if (m_bytes.enabled() && member(index)) {
        uint32_t channel = writes_of(index);

        m_bytes.request(channel,
                        Serial<notice_value_bits>::widen(m_bytes.granted(channel),
                                                         demand28),
                        now_ns);
        collect_bytes(now_ns);
    }
    drain(actions);
}

bool Flow::bytes_given_back(uint32_t index, uint32_t total28, uint64_t now_ns,
                            Actions &actions)
{
    bool good = false;

    advance(now_ns);
    if (m_bytes.enabled() && member(index)) {
        uint32_t channel = writes_of(index);

        good = m_bytes.returned(
                channel,
                Serial<notice_value_bits>::widen(m_bytes.given_back(channel), total28),
                now_ns);
        collect_bytes(now_ns);
    }
    drain(actions);
    return good;
}

/* Takes over what the pool has to say; our own reads are told at once. */
void Flow::collect_bytes(uint64_t now_ns)
{
    while (m_bytes.has_output()) {
        if (uint32_t channel = m_bytes.next_grown(); channel != BytePool::none) {
            if (channel % 2 == 0) {
                m_byte_cells.push_back(channel / 2);
                if (m_peers[channel / 2].wake_wanted) {
                    m_peers[channel / 2].wake_wanted = false;
                    m_wokens.push_back(channel / 2);
                }
            } else {
                m_bytes.told(channel);
                if (m_peers[channel / 2].bytes[1].update(m_bytes.granted(channel))) {
                    bytes_grew(channel / 2, BulkKind::read, now_ns);
                }
            }
        }
        if (uint32_t channel = m_bytes.next_revoke(); channel != BytePool::none) {
            ++m_peers[channel / 2].counters.revokes;
            if (channel % 2 == 0) {
                m_byte_revokes.push_back(channel / 2);
            } else {
                ByteAccount &account = m_peers[channel / 2].bytes[1];

                if (m_peers[channel / 2].bulk_queued[1] == 0) {
                    account.give_back(m_bytes.kept(channel));
                }
                (void)m_bytes.returned(channel, account.returned(), now_ns);
            }
        }
        if (uint32_t channel = m_bytes.next_suspect(); channel != BytePool::none) {
            m_suspects.push_back(channel / 2);
        }
    }
}

void Flow::drain_bytes(Actions &actions)
{
    if (m_pump_due && actions.push({Action::pump_bulk, no_peer, 0})) {
        m_pump_due = false;
    }
    while (!m_byte_returns.empty() && !actions.full()) {
        uint32_t index = m_byte_returns.pop_front();

        actions.push(
                {Action::send_byte_return, index, m_peers[index].bytes[0].returned()});
        settle_demand(index);
    }
    while (!m_byte_requests.empty() && !actions.full()) {
        uint32_t index  = m_byte_requests.pop_front();
        Peer &peer      = m_peers[index];
        uint32_t demand = peer.bytes[0].demand(wanted_units(peer));

        ++peer.counters.requests_sent;
        peer.bytes[0].report(demand);
        actions.push({Action::send_byte_request, index, demand});
    }
    while (!m_byte_cells.empty() && !actions.full()) {
        uint32_t index = m_byte_cells.pop_front();

        if (m_bytes.untold(writes_of(index))) {
            ++m_peers[index].counters.cell_writes;
            actions.push({Action::write_cell, index, m_pool.granted(index)});
        }
    }
    while (!m_byte_revokes.empty() && !actions.full()) {
        uint32_t index = m_byte_revokes.pop_front();

        actions.push({Action::send_byte_revoke, index, m_bytes.kept(writes_of(index))});
    }
    while (!m_wakes.empty() && !actions.full()) {
        uint32_t index = m_wakes.pop_front();

        ++m_peers[index].counters.wakes;
        actions.push({Action::send_wake, index, m_peers[index].bytes[0].granted()});
    }
    while (!m_wokens.empty() && !actions.full()) {
        uint32_t index = m_wokens.pop_front();

        actions.push({Action::send_woken, index, m_bytes.granted(writes_of(index))});
    }
    while (!m_suspects.empty() && !actions.full()) {
        actions.push({Action::suspect, m_suspects.pop_front(), 0});
    }
}

} // namespace be::core
