// SPDX-License-Identifier: BSD-3-Clause

#include "engine/recovery_record.hpp"

#include "engine/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace be::engine {
namespace {

// So that those that have lost their path now, while others come and go, stay among those that are shown.
constexpr std::size_t remembered = 2 * core::StatsPage::max_peers;

const char *state_of(const Peer &peer) noexcept
{
    switch (peer.state) {
    case Peer::State::draining:
        return "draining";
    case Peer::State::dead:
        return "dead";
    case Peer::State::connecting:
        return "connecting";
    default:
        return core::to_string(peer.recovery.state());
    }
}

const char *path_of(const Peer &peer) noexcept
{
    return core::to_string(peer.recovery.state() == core::RecoveryState::tcp ?
                                   core::RecoveryPath::tcp :
                                   core::RecoveryPath::rdma);
}

bool is_up(const Peer &peer) noexcept
{
    return peer.state == Peer::State::ready;
}

void fill(core::StatsPeer &row, const Peer &peer) noexcept
{
    using Row         = core::StatsPeer;
    const auto &stats = peer.recovery.stats();
    const auto below  = core::recoveries_below(stats.durations);
    const auto set    = [&](Row::Value which, std::uint64_t value) {
        row.values[which].store(value, std::memory_order_release);
    };
    set(Row::epoch, peer.recovery.epoch());
    set(Row::losses, peer.losses);
    set(Row::recoveries, stats.completed);
    set(Row::last_time, stats.last_ns);
    set(Row::queue_pair, peer.fault.qpn);
    set(Row::status, peer.fault.status);
    set(Row::vendor_error, peer.fault.vendor_error);
    for (std::size_t i = 0; i < below.size(); ++i) {
        row.below[i].store(below[i], std::memory_order_release);
    }
    row.name.store(peer.name);
    row.state.store(state_of(peer));
    row.path.store(path_of(peer));
    row.side.store(to_string(peer.fault.side));
    row.cause.store(peer.fault.text);
}

} // namespace

RecoveryRecord::RecoveryRecord()
{
    m_last.reserve(remembered + 1);
}

void RecoveryRecord::lost(Peer &peer)
{
    ++peer.losses;
    m_local += peer.fault.side == Fault::Side::local;
    m_remote += peer.fault.side == Fault::Side::remote;

    forget(peer);
    m_last.insert(m_last.begin(), &peer);
    if (m_last.size() > remembered) {
        const auto up = std::find_if(m_last.rbegin(), m_last.rend(),
                                     [](const Peer *other) { return is_up(*other); });
        m_last.erase(up == m_last.rend() ? m_last.end() - 1 : up.base() - 1);
    }
}

void RecoveryRecord::recovered(std::uint64_t took_ns) noexcept
{
    m_last_time = took_ns;
    m_longest   = std::max(m_longest, took_ns);
    ++m_durations[core::recovery_bucket(took_ns)];
}

void RecoveryRecord::forget(const Peer &peer) noexcept
{
    std::erase(m_last, &peer);
}

void RecoveryRecord::metrics(be_metric_func_t func, void *arg) const
{
    const auto say = [&](const char *name, const char *unit, be_metric_kind_t kind,
                         const char *help, std::uint64_t value) {
        const be_metric_t metric{name, unit, help, kind, value};
        func(arg, &metric);
    };
    say("paths_lost_local", "count", BE_METRIC_TOTAL,
        "of paths_lost, those whose fault is on this side", m_local);
    say("paths_lost_remote", "count", BE_METRIC_TOTAL,
        "of paths_lost, those whose fault is on the other side or between", m_remote);
    say("recovery_last_time", "ns", BE_METRIC_NOW, "that the last recovery took",
        m_last_time);
    say("recovery_longest_time", "ns", BE_METRIC_NOW, "that the longest recovery took",
        m_longest);

    static constexpr std::array<const char *, core::recovery_bounds_us.size()> names = {
            "recovery_time_below_256us",     "recovery_time_below_1024us",
            "recovery_time_below_4096us",    "recovery_time_below_16384us",
            "recovery_time_below_65536us",   "recovery_time_below_262144us",
            "recovery_time_below_1048576us", "recovery_time_below_4194304us",
            "recovery_time_below_16777216us"};
    const auto below = core::recoveries_below(m_durations);
    for (std::size_t i = 0; i < below.size(); ++i) {
        say(names[i], "count", BE_METRIC_BUCKET, "recoveries that took less", below[i]);
    }
}

std::size_t RecoveryRecord::show(std::span<const std::unique_ptr<Peer>> peers,
                                 std::span<core::StatsPeer> rows) const noexcept
{
    std::array<const Peer *, core::StatsPage::max_peers> chosen{};
    const std::size_t room = std::min(rows.size(), chosen.size());
    std::size_t count      = 0;
    const auto choose      = [&](const Peer *peer) {
        const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(count);
        if (count < room && std::find(chosen.begin(), end, peer) == end) {
            chosen[count++] = peer;
        }
    };
    for (const bool up : {false, true}) {
        for (const Peer *peer : m_last) {
            if (is_up(*peer) == up) {
                choose(peer);
            }
        }
    }
    for (const auto &peer : peers) {
        if (count == room) {
            break;
        }
        if (peer != nullptr) {
            choose(peer.get());
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        fill(rows[i], *chosen[i]);
    }
    return count;
}

void path_metrics(const Peer &peer, be_metric_func_t func, void *arg)
{
    const auto &stats = peer.recovery.stats();
    const auto say    = [&](const char *name, const char *unit, be_metric_kind_t kind,
                         const char *help, std::uint64_t value) {
        const be_metric_t metric{name, unit, help, kind, value};
        func(arg, &metric);
    };
    say("recovery_epoch", "count", BE_METRIC_NOW,
        "of the path now; 0 is that of the first connection", peer.recovery.epoch());
    say("paths_lost", "count", BE_METRIC_TOTAL, "times that its queue pairs failed",
        peer.losses);
    say("recoveries", "count", BE_METRIC_TOTAL, "times that they were replaced",
        stats.completed);
    say("recovery_last_time", "ns", BE_METRIC_NOW, "that the last recovery took",
        stats.last_ns);
}

std::string path_text(const Peer &peer)
{
    const auto &stats = peer.recovery.stats();
    std::string text  = fmt::format(
             "state {}\npath {}\nepoch {}\nside channel {}\nlosses {}\nrecoveries {}\n",
             state_of(peer), path_of(peer), peer.recovery.epoch(),
            peer.recovery.channel_is_lost() ? "lost" : "there", peer.losses,
             stats.completed);
    if (peer.losses != 0) {
        text += fmt::format("last loss {}\n", peer.fault.describe());
    }
    if (stats.completed != 0) {
        text += fmt::format("last recovery {:.3f} ms\n",
                            static_cast<double>(stats.last_ns) / 1e6);
        const auto below = core::recoveries_below(stats.durations);
        for (std::size_t i = 0; i < below.size(); ++i) {
            text += fmt::format("below {:g} ms {}\n",
                                static_cast<double>(core::recovery_bounds_us[i]) / 1e3,
                                below[i]);
        }
    }
    return text;
}

} // namespace be::engine
