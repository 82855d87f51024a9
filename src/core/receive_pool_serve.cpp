// SPDX-License-Identifier: BSD-3-Clause
//
// What the receive pool grants, to whom and when: rules 1 to 7 of receive_pool.hpp.

#include "core/receive_pool.hpp"

#include <algorithm>

#include "core/invariant.hpp"
#include "core/receive_pool_account.hpp"

namespace be::core {

/* a - b, not below 0. */
static uint32_t beyond(uint32_t a, uint32_t b)
{
    return a - std::min(a, b);
}

/* Rule 1. A peer that broke the protocol may have used up receives of others; then
 * nothing is free until receives are posted again. */
uint32_t ReceivePool::free_posted() const
{
    return beyond(m_posted, m_outstanding);
}

/* Rules 1 and 2. What the peer lacks to its floor is reserved for it already. */
uint32_t ReceivePool::request_allowance(const Peer &peer) const
{
    return std::min(free_posted(), beyond(real_capacity(), m_reserved) + floor_gap(peer));
}

/* Rules 1 to 4. */
uint32_t ReceivePool::share_allowance(const Peer &peer) const
{
    uint32_t limit  = std::min(real_capacity() - m_reserve,
                               m_floors + m_config.capacity / 2);
    uint32_t own    = std::max<uint32_t>(peer.standing(), peer.floor);
    uint32_t others = m_standing - own;

    return std::min(request_allowance(peer), beyond(limit, others + peer.standing()));
}

void ReceivePool::grant(uint32_t index, uint32_t count)
{
    Peer &peer = m_peers[index];

    account(peer, [&] { peer.granted += count; });
    BE_CORE_INVARIANT(m_outstanding <= m_posted);
    BE_CORE_INVARIANT(m_reserved <= real_capacity());
    BE_CORE_INVARIANT(m_standing <= real_capacity() - m_reserve);
    if (floor_gap(peer) == 0) {
        m_low.erase(index);
    }
    if (m_parked.contains(index) && !serial_less(peer.granted, peer.demand)) {
        answer(index);
    }
    note_cell(index);
}

/* Ends the request: what it asked for beyond G is forgotten, the sender asks again. */
void ReceivePool::answer(uint32_t index)
{
    Peer &peer = m_peers[index];

    m_parked.erase(index);
    m_cells.erase(index);
    account(peer, [&] {
        if (serial_less(peer.granted, peer.demand)) {
            peer.demand = peer.granted;
        }
    });
    peer.served = m_period;
    may_hold(index);
    m_answers.push_back(index);
}

/* For rule 7: its turn is behind all that are known to hold something. */
void ReceivePool::may_hold(uint32_t index)
{
    if (m_config.revoke) {
        m_holders.erase(index);
        m_holders.push_back(index);
    }
}

/* The answer writes the cell too, so a peer that is about to get one needs no other. */
void ReceivePool::note_cell(uint32_t index)
{
    if (!m_peers[index].cell_asked && cell_due(index) && !m_answers.contains(index)) {
        m_cells.push_back(index);
    }
}

/* The floor that the next peer without one would get. */
uint32_t ReceivePool::next_floor() const
{
    return (m_floors < m_config.capacity / 4) ? m_config.floor :
                                                std::min(1u, m_config.floor);
}

/* Rule 3. */
bool ReceivePool::floor_fits(const Peer &peer, uint32_t floor) const
{
    uint32_t grown = real_capacity() - m_config.capacity;

    return (m_floors + floor <= m_config.capacity / 2 + grown) &&
           (m_standing + beyond(floor, peer.standing()) <= real_capacity() - m_reserve);
}

/* Gives a floor to a peer without one, by rules 2, 3 and 6; false when there is none to
 * give. */
bool ReceivePool::assign_floor(uint32_t index)
{
    Peer &peer     = m_peers[index];
    uint32_t floor = next_floor();
    uint32_t spare = m_parked.empty() ? 0 : 1;

    if ((floor == 0) || !floor_fits(peer, floor) ||
        (m_reserved + beyond(floor, peer.outstanding()) + spare > real_capacity())) {
        return false;
    }

    account(peer, [&] { peer.floor = static_cast<uint8_t>(floor); });
    m_floors += floor;
    m_floorless.erase(index);
    if (floor_gap(peer) != 0) {
        m_low.push_back(index);
        serve();
    }
    return true;
}

void ReceivePool::assign_floors()
{
    while (!m_floorless.empty() && assign_floor(m_floorless.front())) {
    }
}

/* Grants all that the rules allow now. */
void ReceivePool::serve()
{
    while ((!m_low.empty() || !m_parked.empty()) && (free_posted() != 0)) {
        bool request = !m_parked.empty() &&
                       (request_allowance(m_peers[m_parked.front()]) != 0);

        if (request && (m_low.empty() || !m_floor_turn)) {
            serve_request(m_parked.front());
        } else if (!m_low.empty()) {
            serve_floor(m_low.front());
        } else {
            break;
        }
    }
    serve_shares();
    if (!m_parked.empty() || !m_short.empty()) {
        reclaim();
    }
    m_pressing = !m_low.empty() || !m_parked.empty() || !m_short.empty();
}

void ReceivePool::serve_floor(uint32_t index)
{
    m_floor_turn = false;
    grant(index, std::min(floor_gap(m_peers[index]), free_posted()));
}

void ReceivePool::serve_request(uint32_t index)
{
    Peer &peer    = m_peers[index];
    uint32_t open = peer.demand - peer.granted;

    m_floor_turn = true;
    grant(index, std::min({m_config.quantum, open, request_allowance(peer)}));
    if (m_parked.contains(index)) {
        answer(index);
    }
}

/* Rule 7: all but the floor of an idle peer, all but the share of one that has much
 * more, or what it asked for if that is more than its share. Few are looked at at a time,
 * the longest silent first. */
void ReceivePool::reclaim()
{
    constexpr uint32_t at_once = 8; /* revokes under way */
    constexpr int looked_at    = 4;

    for (int i = 0; (i < looked_at) && (m_revoking < at_once) && !m_holders.empty();
         ++i) {
        uint32_t index = m_holders.front();
        Peer &peer     = m_peers[index];
        bool active    = recent(peer.period) || recent(peer.served);
        uint32_t share = active ? share_of(peer) : peer.floor;
        uint32_t asked = active ? peer.outstanding() - peer.standing() : 0;
        uint32_t keep  = std::max(share, asked);
        uint32_t slack = active ? share / 8 : 0;

        m_holders.erase(index);
        if (active) {
            m_holders.push_back(index);
        }
        if (!peer.revoking && (peer.outstanding() > keep + slack)) {
            peer.keep     = keep;
            peer.revoking = true;
            ++m_revoking;
            m_revokes.push_back(index);
        }
    }
}

void ReceivePool::serve_shares()
{
    while (m_low.empty() && m_parked.empty() && !m_short.empty() &&
           serve_share(m_short.front())) {
        m_short.pop_front();
    }
}

/* True when the peer needs no more: it has its share, or is not active any more. */
bool ReceivePool::serve_share(uint32_t index)
{
    Peer &peer     = m_peers[index];
    uint32_t wants = beyond(share_of(peer), peer.outstanding());
    uint32_t count = std::min(wants, share_allowance(peer));

    if (peer.period + 1 < m_period) {
        return true;
    }
    if (count != 0) {
        grant(index, count);
    }
    return count == wants;
}

} // namespace be::core
