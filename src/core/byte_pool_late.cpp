// SPDX-License-Identifier: BSD-3-Clause
//
// Time: who is active, what is late, and what that means: rules 3 to 5 and 7 of
// byte_pool.hpp.

#include "core/byte_pool.hpp"

#include <algorithm>

#include "core/byte_pool_account.hpp"

namespace be::core {

namespace {

constexpr uint64_t observation_ns = 1'000'000; /* the fastest of so long is the loop */
constexpr int64_t path_memory     = 4; /* grants */
constexpr uint32_t probe_grants   = 8;
constexpr uint64_t probe_loops    = 4; /* a probe lasts no longer */
constexpr uint64_t first_probe_pause_ns = 1'000'000; /* also before the first */
constexpr uint64_t probe_pause_loops    = 20; /* nor is it shorter: on a slow port */
constexpr uint64_t longest_probe_pause  = 10; /* first ones */
constexpr uint64_t slowest_loops        = 4; /* the loop is not believed to be longer */

} // namespace

void BytePool::complete_grants(uint32_t index, uint64_t now_ns)
{
    Channel &channel = m_channels[index];

    while (!m_log.empty(index) &&
           !serial_less(channel.arrived, m_log.front(index).total)) {
        judge(channel, m_log.front(index), now_ns);
        m_log.pop(index);
    }
}

void BytePool::judge(Channel &channel, const GrantLog::Grant &grant, uint64_t now_ns)
{
    const auto loop = static_cast<int64_t>(m_config.loop_ns);
    const auto late = static_cast<int64_t>(now_ns - grant.due_ns);

    observe(now_ns - grant.given_ns, now_ns);
    if (grant.probe) {
        follow_path(now_ns - grant.given_ns);
    }
    if (channel.late && (late < loop / 4)) {
        account(channel, [&] { channel.late = false; });
    }
    if (late <= loop / 2) {
        uint32_t more = std::max(1u, m_config.quantum * m_config.quantum / channel.cap);

        channel.cap = std::min(m_config.run, channel.cap + more);
    } else if (static_cast<int64_t>(now_ns - channel.cut_ns) > loop + late) {
        channel.cap    = std::max(m_config.quantum, channel.cap / 2);
        channel.cut_ns = now_ns;
    }
}

void BytePool::observe(uint64_t loop_ns, uint64_t now_ns)
{
    m_fastest_ns = std::min(m_fastest_ns, loop_ns);
    if (now_ns - m_observed_ns > observation_ns) {
        m_base_ns     = std::clamp(m_fastest_ns, m_config.loop_ns,
                                   slowest_loops * m_config.loop_ns);
        m_fastest_ns  = ~uint64_t{0};
        m_observed_ns = now_ns;
    }
}

/* Rule 2. */
void BytePool::probe(uint64_t now_ns)
{
    if (m_probes_left != 0) {
        if (now_ns >= m_probe_end_ns) {
            m_probes_left = 0;
        }
    } else if ((now_ns >= m_probe_ns) && (m_account[1] + m_config.quantum > m_run)) {
        if (m_probe_pause_ns != 0) {
            m_probes_left  = probe_grants;
            m_probe_end_ns = now_ns + probe_loops * m_config.loop_ns;
        }

        const uint64_t least = std::max(first_probe_pause_ns,
                                        probe_pause_loops * m_config.loop_ns);

        m_probe_pause_ns = std::clamp(2 * m_probe_pause_ns, least,
                                      longest_probe_pause * least);
        m_probe_ns       = now_ns + m_probe_pause_ns;
    }
}

void BytePool::follow_path(uint64_t loop_ns)
{
    uint64_t quantum = m_config.quantum;
    auto sample      = static_cast<int64_t>(
            std::min(loop_ns, slowest_loops * m_config.loop_ns));

    m_path_ns += (sample - static_cast<int64_t>(m_path_ns)) / path_memory;

    uint64_t holds  = m_path_ns * 1000 / m_config.unit_ps;
    uint64_t quanta = (holds + quantum - 1) / quantum + 1;

    m_run = static_cast<uint32_t>(
            std::clamp<uint64_t>(quanta * quantum,
                                 std::min(2 * m_config.quantum, m_config.run),
                                 m_config.run));
}

void BytePool::touch(uint32_t index, uint64_t now_ns)
{
    m_channels[index].active_ns = now_ns;
    m_active.erase(index);
    m_active.push_back(index);
    m_idle.erase(index);
    expire_active(now_ns);
}

void BytePool::expire_active(uint64_t now_ns)
{
    while (!m_active.empty()) {
        uint32_t index = m_active.front();

        if (now_ns - m_channels[index].active_ns <= m_config.active_ns) {
            break;
        }
        m_active.erase(index);
        if (m_channels[index].outstanding() != 0) {
            m_idle.push_back(index);
        }
    }
}

bool BytePool::make_late(uint32_t index)
{
    Channel &channel = m_channels[index];

    if (!channel.late) {
        if (m_account[2] + channel.outstanding() > m_config.late) {
            return false;
        }
        account(channel, [&] { channel.late = true; });
        m_late.push_back(index);
        ++m_lates;
    }
    return true;
}

void BytePool::find_late(uint64_t now_ns)
{
    while (!m_overdue.empty() && make_late(m_overdue.front())) {
        m_overdue.pop_front();
    }
    for (const GrantLog::Grant *grant = m_log.first_due();
         (grant != nullptr) && (now_ns >= grant->due_ns + m_config.loop_ns / 2);
         grant = m_log.first_due()) {
        uint32_t index = grant->channel;

        m_log.take_first_due();
        if (!make_late(index)) {
            m_overdue.push_back(index);
        }
    }
}

/* Rule 7. */
void BytePool::suspect(uint64_t now_ns)
{
    if (!m_overdue.empty()) {
        suspect(m_late, now_ns);
        suspect(m_overdue, now_ns);
    }
}

void BytePool::suspect(IndexList &list, uint64_t now_ns)
{
    for (uint32_t count = list.size(); count != 0; --count) {
        uint32_t index   = list.front();
        Channel &channel = m_channels[index];

        if (now_ns - std::max(channel.arrival_ns, channel.active_ns) <
            m_config.suspect_ns) {
            break;
        }
        list.erase(index);
        list.push_back(index);
        if (!channel.suspected) {
            channel.suspected = true;
            m_suspects.push_back(index);
        }
    }
}

void BytePool::tick(uint64_t now_ns)
{
    expire_active(now_ns);
    serve(now_ns);
    suspect(now_ns);
}

uint64_t BytePool::due_ns() const
{
    uint64_t due                 = ~uint64_t{0};
    const GrantLog::Grant *grant = m_log.first_due();

    if (grant != nullptr) {
        due = grant->due_ns + m_config.loop_ns / 2;
    }
    if (!m_overdue.empty()) {
        const Channel &channel =
                m_channels[m_late.empty() ? m_overdue.front() : m_late.front()];

        due = std::min(due, std::max(channel.arrival_ns, channel.active_ns) +
                                    m_config.suspect_ns);
    }
    if (!m_active.empty() &&
        (m_demands[short_demands].size() + m_demands[long_demands].size() +
                 m_demands[restricted].size() !=
         0)) { /* who waits may get what an idle channel holds */
        due = std::min(due,
                       m_channels[m_active.front()].active_ns + m_config.active_ns + 1);
    }
    return due;
}

} // namespace be::core
