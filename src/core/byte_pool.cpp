// SPDX-License-Identifier: BSD-3-Clause
//
// Accounts, arrivals and outputs of the byte pool; byte_pool_serve.cpp has who is granted
// what when, byte_pool_late.cpp who is late.

#include "core/byte_pool.hpp"

#include <bit>
#include <stdexcept>

#include "core/byte_pool_account.hpp"

namespace be::core {

namespace {

constexpr uint32_t budget_limit = 1u << 22; /* units: 1 GiB of 256 bytes */

void require(bool good, const char *field, uint64_t value, const std::string &expected)
{
    if (!good) {
        throw std::invalid_argument(std::string("byte pool ") + field + " is " +
                                    std::to_string(value) + ", expected " + expected);
    }
}

} // namespace

BytePoolConfig BytePoolConfig::derive(double gbps, uint64_t loop_ns)
{
    BytePoolConfig config;
    const double bytes_per_ns = gbps / 8;
    const auto path  = static_cast<uint64_t>(bytes_per_ns * static_cast<double>(loop_ns));
    const uint64_t q = std::clamp<uint64_t>(std::bit_floor(path / 8), 4096, 65536);
    const auto in_whole_quanta = [&](uint64_t bytes) {
        return static_cast<uint32_t>((bytes + q - 1) / q * q / config.unit);
    };

    config.quantum = static_cast<uint32_t>(q / config.unit);
    config.run     = in_whole_quanta(path) + config.quantum;
    config.bonus   = static_cast<uint32_t>(path / config.unit);
    config.late    = std::max(in_whole_quanta(2 * path), 2 * config.quantum);
    config.loop_ns = loop_ns;
    config.unit_ps = static_cast<uint32_t>(config.unit / bytes_per_ns * 1000);
    return config;
}

BytePoolConfig
BytePoolConfig::within(uint64_t budget, double bytes_per_second, uint32_t least_quantum)
{
    BytePoolConfig config;
    const uint64_t q     = std::clamp<uint64_t>(std::bit_floor(budget / 16),
                                            std::bit_ceil(least_quantum),
                                            std::max(65536u,
                                                         std::bit_ceil(least_quantum)));
    const auto in_quanta = [&](uint64_t bytes) {
        return static_cast<uint32_t>(std::max(bytes / q, uint64_t{1}) * q / config.unit);
    };
    const double ns_per_byte = 1e9 / bytes_per_second;

    config.quantum = static_cast<uint32_t>(q / config.unit);
    config.run     = in_quanta(budget / 2);
    config.late    = in_quanta(budget / 8 * 3);
    config.bonus   = static_cast<uint32_t>(budget / 8 / config.unit);
    config.loop_ns = static_cast<uint64_t>(ns_per_byte * config.run * config.unit) + 1;
    config.unit_ps = static_cast<uint32_t>(ns_per_byte * config.unit * 1000) + 1;
    return config;
}

BytePool::BytePool(const BytePoolConfig &config) :
    m_config(config),
    m_log(config.enabled() ? std::min(budget_limit, budget()) : 0),
    m_base_ns(config.loop_ns),
    m_path_ns(config.loop_ns),
    m_run(config.run),
    m_probe_pause_ns(0)
{
    require(config.unit >= 1, "unit", config.unit, "at least 1 byte");
    if (!config.enabled()) {
        return;
    }
    require((config.quantum >= 1) && (config.quantum <= config.run), "quantum",
            config.quantum, "1 to run, which is " + std::to_string(config.run));
    require(config.late >= config.quantum, "late", config.late,
            "at least the quantum of " + std::to_string(config.quantum) + " units");
    require(uint64_t{config.run} + config.bonus + config.late <= budget_limit,
            "run + bonus + late", uint64_t{config.run} + config.bonus + config.late,
            "at most " + std::to_string(budget_limit) + " units");
    require(config.least_bonus >= 1, "least_bonus", config.least_bonus,
            "at least 1 unit");
    require(config.loop_ns >= 1, "loop_ns", config.loop_ns, "at least 1 ns");
    require(config.unit_ps >= 1, "unit_ps", config.unit_ps, "at least 1 ps");
}

void BytePool::add(uint32_t index, uint64_t now_ns)
{
    if (index >= m_channels.size()) {
        m_channels.resize(index + 1);
        m_log.resize(index + 1);
        for (IndexList *list : {&m_demands[short_demands], &m_demands[long_demands],
                                &m_demands[restricted], &m_active, &m_idle, &m_late,
                                &m_overdue, &m_grown, &m_revokes, &m_suspects}) {
            list->resize(m_channels.size());
        }
    }

    Channel &channel = m_channels[index];

    channel = {};
    channel.start(m_config.first_total);
    channel.cap = m_config.run;
    touch(index, now_ns);
    top_up(index, now_ns);
}

void BytePool::remove(uint32_t index, uint64_t now_ns)
{
    if (!member(index)) {
        return;
    }

    Channel &channel = m_channels[index];

    if (channel.revoking) {
        --m_revoking;
    }
    unlist(index);
    for (IndexList *list :
         {&m_active, &m_idle, &m_late, &m_overdue, &m_grown, &m_revokes, &m_suspects}) {
        list->erase(index);
    }
    while (!m_log.empty(index)) {
        m_log.pop(index);
    }
    account(channel, [&] { channel.close(); });
    channel.running = channel.late = false;
    serve(now_ns);
}

bool BytePool::arrived(uint32_t index, uint32_t units, uint64_t now_ns)
{
    if (!member(index) || (units > m_channels[index].outstanding())) {
        return false;
    }

    Channel &channel = m_channels[index];

    channel.arrival_ns = now_ns;
    channel.suspected  = false;
    account(channel, [&] { channel.use_up(units); });
    complete_grants(index, now_ns);
    touch(index, now_ns);
    settle(index);
    time_bonus(index, now_ns);
    enlist(index);
    serve(now_ns);
    top_up(index, now_ns);
    return true;
}

bool BytePool::returned(uint32_t index, uint32_t total, uint64_t now_ns)
{
    if (!member(index)) {
        return false;
    }

    Channel &channel = m_channels[index];
    int32_t units    = channel.newly_returned(total, channel.outstanding());

    if (channel.revoking) {
        channel.revoking = false;
        --m_revoking;
    }
    if (units < 0) {
        return false;
    }
    channel.returned = total;
    account(channel, [&] { channel.use_up(static_cast<uint32_t>(units)); });
    while (!m_log.empty(index) &&
           !serial_less(channel.arrived, m_log.front(index).total)) {
        m_log.pop(index);
    }
    settle(index);
    time_bonus(index, now_ns);
    enlist(index);
    serve(now_ns);
    return true;
}

void BytePool::request(uint32_t index, uint32_t demand, uint64_t now_ns)
{
    if (!member(index)) {
        return;
    }

    Channel &channel = m_channels[index];

    account(channel, [&] { channel.want(demand); });
    touch(index, now_ns);
    settle(index);
    time_bonus(index, now_ns);
    enlist(index);
    serve(now_ns);
}

/* Running or idle; a channel that wants nothing any more is not late. */
void BytePool::settle(uint32_t index)
{
    Channel &channel = m_channels[index];
    bool wants       = channel.open() != 0;
    bool uses        = (channel.outstanding() != 0) &&
                serial_less(channel.arrived, channel.demand);
    bool running = wants || (channel.running && uses);
    bool late    = channel.late && (wants || uses);

    if ((running != channel.running) || (late != channel.late)) {
        account(channel, [&] {
            channel.running = running;
            channel.late    = late;
        });
    }
    if (!channel.late) {
        m_late.erase(index);
    }
    if (m_log.empty(index)) {
        m_overdue.erase(index);
    }
}

std::string BytePool::check() const
{
    uint64_t sums[3]  = {};
    uint32_t revoking = 0;

    for (uint32_t index = 0; index < m_channels.size(); ++index) {
        const Channel &channel = m_channels[index];

        if (!channel.member) {
            continue;
        }
        if (const char *broken = channel.check(); *broken != 0) {
            return std::string("byte pool: ") + broken;
        }
        if (channel.late != m_late.contains(index)) {
            return "the list of late channels has drifted";
        }
        sums[account_of(channel)] += channel.outstanding();
        revoking += channel.revoking;
    }
    if ((sums[0] != m_account[0]) || (sums[1] != m_account[1]) ||
        (sums[2] != m_account[2])) {
        return "a sum of bytes over the channels has drifted";
    }
    if (revoking != m_revoking) {
        return "the count of revokes has drifted";
    }
    if (sums[0] + sums[1] + sums[2] > budget()) {
        return "more bytes are outstanding than the budget";
    }
    return {};
}

} // namespace be::core
