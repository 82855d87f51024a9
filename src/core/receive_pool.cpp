// SPDX-License-Identifier: BSD-3-Clause
//
// Accounts and outputs of the receive pool; receive_pool_serve.cpp has what is granted
// when.

#include "core/receive_pool.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/receive_pool_account.hpp"

namespace be::core {

namespace {

constexpr uint32_t capacity_limit = 1u << 24; /* keeps 28-bit demand totals unambiguous */

void require(bool good, const char *field, uint32_t value, const std::string &expected)
{
    if (!good) {
        throw std::invalid_argument(std::string("receive pool ") + field + " is " +
                                    std::to_string(value) + ", expected " + expected);
    }
}

} // namespace

ReceivePool::ReceivePool(const ReceivePoolConfig &config) :
    m_config(config),
    m_posted(config.capacity),
    m_reserve(std::max(1u, config.capacity / 4))
{
    require((config.capacity >= 1) && (config.capacity <= capacity_limit), "capacity",
            config.capacity, "1 to " + std::to_string(capacity_limit) + " receives");
    require((config.max_capacity >= config.capacity) &&
                    (config.max_capacity <= capacity_limit),
            "max_capacity", config.max_capacity,
            "the capacity of " + std::to_string(config.capacity) + " to " +
                    std::to_string(capacity_limit) + " receives");
    require(config.floor <= 3, "floor", config.floor, "0 to 3 messages");
    require(config.quantum >= 1, "quantum", config.quantum, "at least 1 message");
    require(config.share_cap >= config.floor, "share_cap", config.share_cap,
            "at least the floor of " + std::to_string(config.floor) + " messages");
    require((config.max_peers >= 1) && (config.max_peers < none), "max_peers",
            config.max_peers, "1 to " + std::to_string(none - 1));
    update_share();
}

std::optional<uint32_t> ReceivePool::join()
{
    uint32_t index;

    if (!m_unused.empty()) {
        index = m_unused.back();
        m_unused.pop_back();
    } else if (m_peers.size() < m_config.max_peers) {
        index = static_cast<uint32_t>(m_peers.size());
        m_peers.emplace_back();
        m_unused.reserve(m_peers.capacity());
        for (IndexList *list : {&m_noted_peers, &m_parked, &m_low, &m_short, &m_floorless,
                                &m_answers, &m_cells, &m_holders, &m_revokes}) {
            list->resize(m_peers.size());
        }
    } else {
        return std::nullopt;
    }

    Peer &peer = m_peers[index];

    peer = {};
    peer.start(m_config.first_total);
    take_in_all();
    if (!assign_floor(index)) {
        uint32_t floor = next_floor();

        /* Growth helps when it is the bound on what stands that is in the way. */
        if (!floor_fits(peer, floor) && (capacity() + floor <= m_config.max_capacity)) {
            m_growth_due += floor;
        }
        if (floor != 0) {
            m_floorless.push_back(index);
        }
    }
    if (m_config.revoke) { /* what it does not need can be had back */
        touch(peer);
        m_holders.push_back(index);
        m_short.push_back(index);
        serve();
    }
    return index;
}

void ReceivePool::leave(uint32_t index)
{
    if (!member(index)) {
        return;
    }

    Peer &peer = m_peers[index];

    take_in_all();
    for (IndexList *list : {&m_noted_peers, &m_parked, &m_low, &m_short, &m_floorless,
                            &m_answers, &m_cells, &m_holders, &m_revokes}) {
        list->erase(index);
    }

    account(peer, [&] {
        m_floors -= peer.floor;
        peer.floor = 0;
        peer.close();
    });

    if (peer.period == m_period) {
        --m_active_now;
    } else if (peer.period + 1 == m_period) {
        --m_active_last;
    }
    m_revoking -= peer.revoking;
    m_unused.push_back(index);

    update_share();
    assign_floors();
    serve();
}

bool ReceivePool::on_arrival(uint32_t index)
{
    uint32_t used_up = std::min(m_posted, 1u);

    m_posted -= used_up;
    m_in_hand += used_up;

    if (!member(index) || (m_peers[index].outstanding() == m_peers[index].noted)) {
        return false;
    }
    ++m_peers[index].noted;
    ++m_noted;
    take_in(index);
    return true;
}

/* What arrived from the peer and was only noted becomes known to everything else. */
void ReceivePool::take_in(uint32_t index)
{
    Peer &peer = m_peers[index];

    account(peer, [&] { peer.use_up(peer.noted); });
    m_noted -= peer.noted;
    peer.noted = 0;
    m_noted_peers.erase(index);
    touch(peer);
    may_hold(index);

    /* Most often nobody waits and the peer gets back at once what it used. */
    if (m_pressing || !serve_share(index)) {
        if (floor_gap(peer) != 0) {
            m_low.push_back(index);
        }
        if (peer.outstanding() < share_of(peer)) {
            m_short.push_back(index);
        }
        serve();
    }
    note_cell(index);
    peer.easy = std::min(peer.outstanding(), m_share / 8);
}

void ReceivePool::take_in_all()
{
    while (!m_noted_peers.empty()) {
        take_in(m_noted_peers.front());
    }
}

bool ReceivePool::on_returned(uint32_t index, uint32_t total)
{
    if (!member(index)) {
        return false;
    }

    take_in_all();

    Peer &peer    = m_peers[index];
    int32_t count = peer.newly_returned(total, peer.outstanding());

    m_revoking -= peer.revoking;
    peer.revoking = false;
    if (count < 0) {
        return false;
    }
    account(peer, [&] {
        peer.returned = total;
        peer.use_up(static_cast<uint32_t>(count));
    });
    peer.easy = 0;
    if (count == 0) { /* there will be a use for it: not asked again at once */
        peer.served = m_period;
        may_hold(index);
    }
    if (floor_gap(peer) != 0) {
        m_low.push_back(index);
    }
    assign_floors();
    serve();
    return true;
}

void ReceivePool::on_repost(uint32_t count)
{
    uint32_t again = std::min(count, m_in_hand);
    uint32_t grown = count - again;

    m_posted += count;
    m_in_hand -= again;
    m_growth_asked -= std::min(m_growth_asked, grown);

    if (grown != 0) {
        update_share();
    }
    if (m_pressing || !m_floorless.empty()) {
        take_in_all();
        assign_floors();
        serve();
    }
}

void ReceivePool::on_request(uint32_t index, uint32_t demand)
{
    /* An answer that was not collected yet answers this one too: the sender asks again
     * when it needs more. */
    if (!member(index) || m_answers.contains(index)) {
        return;
    }

    take_in_all();

    Peer &peer = m_peers[index];

    if (peer.floor == 0) {
        assign_floor(index);
    }

    account(peer, [&] { peer.want(demand); });
    if (!serial_less(peer.granted, peer.demand)) {
        answer(index);
    } else {
        m_parked.push_back(index);
    }
    serve();
}

void ReceivePool::forget_request(uint32_t index)
{
    if (!member(index)) {
        return;
    }

    take_in_all();

    Peer &peer = m_peers[index];

    m_answers.erase(index);
    m_revokes.erase(index);
    m_parked.erase(index);
    m_cells.erase(index);
    account(peer, [&] {
        peer.granted = peer.told;
        peer.demand  = serial_min(peer.demand, peer.granted);
    });
    if (floor_gap(peer) != 0) {
        m_low.push_back(index);
    }
    peer.easy       = 0;
    peer.cell_asked = false;
    serve();
}

void ReceivePool::told(uint32_t index, uint32_t total)
{
    Peer &peer = m_peers[index];

    if (serial_less(peer.told, total) && !serial_less(peer.granted, total)) {
        peer.told = total;
    }
    peer.cell_asked = false;
    note_cell(index);
}

bool ReceivePool::cell_due(uint32_t index) const
{
    const Peer &peer = m_peers[index];
    uint32_t unknown = peer.granted - peer.told;
    uint32_t share   = share_of(peer);
    int32_t left     = serial_diff(peer.told, peer.arrived + peer.noted);

    return (unknown != 0) && ((unknown >= std::max(2u, share / 2)) ||
                              (left <= static_cast<int32_t>(share / 4)));
}

uint32_t ReceivePool::next_answer()
{
    return m_answers.pop_front();
}

uint32_t ReceivePool::next_cell()
{
    for (uint32_t index = m_cells.pop_front(); index != none;
         index          = m_cells.pop_front()) {
        if (cell_due(index)) {
            m_peers[index].cell_asked = true;
            return index;
        }
    }
    return none;
}

uint32_t ReceivePool::take_growth()
{
    uint32_t growth = m_growth_due;

    m_growth_due = 0;
    m_growth_asked += growth;
    return growth;
}

void ReceivePool::new_period()
{
    ++m_period;
    m_active_last = m_active_now;
    m_active_now  = 0;
    update_share();
    if (!m_parked.empty()) { /* others are idle now */
        reclaim();
    }
}

void ReceivePool::touch(Peer &peer)
{
    if (peer.period == m_period) {
        return;
    }
    if (peer.period + 1 == m_period) {
        --m_active_last;
    }
    ++m_active_now;
    peer.period = m_period;
    update_share();
}

void ReceivePool::update_share()
{
    m_share = std::min(m_config.share_cap,
                       real_capacity() / 2 / std::max(1u, active_peers()));
}

std::string ReceivePool::check() const
{
    uint64_t outstanding = 0, reserved = 0, standing = 0, floors = 0, noted = 0;
    uint32_t now = 0, last = 0;

    for (const Peer &peer : m_peers) {
        if (!peer.member) {
            continue;
        }
        if (const char *broken = peer.check(); *broken != 0) {
            return std::string("receive pool: ") + broken;
        }
        if (peer.noted > peer.outstanding()) {
            return "more messages were noted than were granted";
        }
        noted += peer.noted;
        outstanding += peer.outstanding();
        reserved += std::max<uint32_t>(peer.outstanding(), peer.floor);
        standing += std::max<uint32_t>(peer.standing(), peer.floor);
        floors += peer.floor;
        now += (peer.period == m_period);
        last += (peer.period + 1 == m_period);
    }

    for (uint32_t index = 0; index < m_peers.size(); ++index) {
        if (m_peers[index].member && !m_parked.contains(index) &&
            serial_less(m_peers[index].granted, m_peers[index].demand)) {
            return "a demand is open and does not wait";
        }
    }

    if ((outstanding != m_outstanding) || (reserved != m_reserved) ||
        (standing != m_standing) || (floors != m_floors)) {
        return "a sum over the peers has drifted";
    }
    if (noted != m_noted) {
        return "the count of messages that were only noted has drifted";
    }

    uint32_t revoking = 0;

    for (const Peer &peer : m_peers) {
        revoking += peer.member && peer.revoking;
    }
    if (revoking != m_revoking) {
        return "the count of revokes has drifted";
    }
    if ((now != m_active_now) || (last != m_active_last)) {
        return "the count of active peers has drifted";
    }
    if (m_pressing != (!m_low.empty() || !m_parked.empty() || !m_short.empty())) {
        return "who waits is not known";
    }
    if (outstanding - noted > m_posted) {
        return "more messages are outstanding than receives are posted";
    }
    if (reserved > real_capacity()) {
        return "floors are not backed by receives";
    }
    if (standing > real_capacity() - m_reserve) {
        return "standing grants leave no room for requests";
    }
    return {};
}

} // namespace be::core
