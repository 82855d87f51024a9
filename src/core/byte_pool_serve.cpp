// SPDX-License-Identifier: BSD-3-Clause
//
// Who is granted what when: rules 1 to 6 of byte_pool.hpp.

#include "core/byte_pool.hpp"

#include <algorithm>

#include "core/byte_pool_account.hpp"
#include "core/invariant.hpp"

namespace be::core {

namespace {

constexpr uint32_t shorts_in_a_row   = 4;
constexpr uint32_t revokes_for_run   = 8; /* under way at once, to serve demands */
constexpr uint32_t revokes_for_bonus = 2;
constexpr int shrunk_at_once         = 4; /* channels looked at */
constexpr uint64_t shrink_loops      = 8; /* between two rounds of that */

} // namespace

void BytePool::grant(uint32_t index, uint32_t units, uint64_t now_ns, bool timed)
{
    Channel &channel = m_channels[index];

    account(channel, [&] { channel.granted += units; });
    BE_CORE_INVARIANT(outstanding() <= budget());
    if (timed) {
        m_due_ns = std::max({now_ns + m_base_ns, m_due_ns + transfer_ns(units),
                             now_ns + transfer_ns(m_account[1] + m_account[2])});

        bool probing = (m_probes_left != 0) && (units == m_config.quantum);

        m_probes_left -= probing;
        m_log.add(index, channel.granted, m_due_ns, now_ns, probing);
    }
    m_grown.push_back(index);
}

/* A channel that begins to run uses its bonus first, and is expected to. */
void BytePool::time_bonus(uint32_t index, uint64_t now_ns)
{
    const Channel &channel = m_channels[index];
    uint32_t held          = channel.outstanding();

    if (channel.running && (held != 0) && m_log.empty(index)) {
        m_due_ns = std::max({now_ns + m_base_ns + transfer_ns(held), m_due_ns,
                             now_ns + transfer_ns(m_account[1] + m_account[2])});
        m_log.add(index, channel.granted, m_due_ns, now_ns, false);
    }
}

/* Also moves a channel that is restricted no more. */
void BytePool::enlist(uint32_t index)
{
    Channel &channel = m_channels[index];
    bool limited     = channel.late || over_cap(channel);

    if ((channel.list == restricted) && !limited) {
        unlist(index);
    }
    if ((channel.list == unlisted) && (channel.open() != 0)) {
        channel.list = limited                              ? restricted :
                       (channel.open() <= m_config.quantum) ? short_demands :
                                                              long_demands;
        m_demands[channel.list].push_back(index);
    }
}

void BytePool::unlist(uint32_t index)
{
    Channel &channel = m_channels[index];

    if (channel.list != unlisted) {
        m_demands[channel.list].erase(index);
        channel.list = unlisted;
    }
}

/* Serves whose turn it is; false when nobody can be. */
bool BytePool::serve_one(uint64_t now_ns)
{
    const uint32_t quantum = m_config.quantum;
    const uint32_t limit   = (m_probes_left == 0) ? m_run : std::max(quantum, m_run / 2);
    const bool shorts      = !m_demands[short_demands].empty();
    const bool longs       = !m_demands[long_demands].empty();
    const bool nobody_else = !shorts && !longs;
    const bool spare = nobody_else && (m_account[1] + m_account[2] + quantum <= limit);
    /* All that runs is late: one that holds nothing must not wait for those that do. */
    const bool stuck = nobody_else && !spare && (m_account[1] == 0);
    List list        = long_demands;

    if (!m_demands[restricted].empty() &&
        (spare || stuck || (m_account[2] + quantum <= m_config.late))) {
        list = restricted;
    } else if (shorts && (!longs || (m_shorts < shorts_in_a_row))) {
        list = short_demands;
    }
    if (m_demands[list].empty()) {
        return false;
    }

    const uint32_t index = m_demands[list].front();
    Channel &channel     = m_channels[index];
    const bool limited   = channel.late || over_cap(channel);

    if ((channel.open() == 0) || (limited != (list == restricted))) {
        unlist(index);
        enlist(index);
        return true;
    }
    if ((list == restricted) &&
        (spare ? over_cap(channel) && (channel.outstanding() + quantum > m_config.late) :
                 (!channel.late || (channel.outstanding() != 0)))) {
        unlist(index); /* again when something of it arrives */
        return true;
    }

    if (stuck && (channel.outstanding() != 0)) { /* likewise */
        unlist(index);
        return true;
    }

    const uint32_t units = std::min(quantum, channel.open());

    if ((list != restricted) && (m_account[1] + units > limit)) {
        return false;
    }
    if (units > room()) {
        if (m_revoking < revokes_for_run) {
            reclaim();
        }
        return false;
    }
    unlist(index);
    if (list != restricted) {
        m_shorts = (list == short_demands) ? m_shorts + 1 : 0;
    }
    grant(index, units, now_ns, true);
    enlist(index);
    return true;
}

void BytePool::serve(uint64_t now_ns)
{
    find_late(now_ns);
    probe(now_ns);
    while (serve_one(now_ns)) {
    }
}

/* Rule 6. */
void BytePool::top_up(uint32_t index, uint64_t now_ns)
{
    Channel &channel = m_channels[index];
    uint32_t share   = m_config.bonus / std::max(1u, m_active.size());
    uint32_t held    = channel.outstanding();

    if (!channel.member || channel.running || channel.late) {
        return;
    }
    if (share < m_config.least_bonus) {
        share = 0;
    }
    if (2 * held > share) {
        return;
    }

    uint32_t left  = m_config.bonus - std::min(m_config.bonus, m_account[0]);
    uint32_t spare = room() - std::min(room(), m_config.quantum);
    uint32_t units = std::min({share - held, left, spare});

    if ((units < share / 2) && (m_revoking < revokes_for_bonus) && !reclaim() &&
        (now_ns > m_shrunk_ns + shrink_loops * m_config.loop_ns)) {
        m_shrunk_ns = now_ns;
        shrink(index, share);
    }
    if (units != 0) {
        grant(index, units, now_ns, false);
    }
}

/* Calls back what one of the longest active channels holds beyond the share. */
void BytePool::shrink(uint32_t index, uint32_t share)
{
    for (int i = 0; (i < shrunk_at_once) && !m_active.empty(); ++i) {
        uint32_t other         = m_active.front();
        const Channel &channel = m_channels[other];

        m_active.erase(other);
        m_active.push_back(other);
        if ((other != index) && !channel.running && !channel.revoking &&
            (channel.outstanding() > 2 * share)) {
            revoke(other, share);
            return;
        }
    }
}

/* Calls back all that the longest idle channel holds. */
bool BytePool::reclaim()
{
    while (!m_idle.empty()) {
        uint32_t index         = m_idle.pop_front();
        const Channel &channel = m_channels[index];

        if (!channel.running && !channel.revoking && (channel.outstanding() != 0)) {
            revoke(index, 0);
            return true;
        }
    }
    return false;
}

void BytePool::revoke(uint32_t index, uint32_t keep)
{
    m_channels[index].keep     = keep;
    m_channels[index].revoking = true;
    ++m_revoking;
    m_revokes.push_back(index);
}

} // namespace be::core
