// SPDX-License-Identifier: BSD-3-Clause

#include "core/stats_reader.hpp"

#include <algorithm>
#include <string_view>

namespace be::core {
namespace {

constexpr unsigned most_attempts = 1000;

// "name\tunit\tkind\tsentence"; what is missing is empty.
StatsMetric parse(std::string_view line)
{
    std::array<std::string_view, 4> field;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const std::size_t end = i + 1 < field.size() ? line.find('\t') : line.npos;
        field[i]              = line.substr(0, end);
        line.remove_prefix(std::min(field[i].size() + 1, line.size()));
    }
    StatsMetric metric;
    metric.name = field[0];
    metric.unit = field[1];
    metric.help = field[3];
    for (const auto kind : {StatsMetric::Kind::now, StatsMetric::Kind::bucket}) {
        if (field[2] == to_string(kind)) {
            metric.kind = kind;
        }
    }
    return metric;
}

StatsPeerView read(const StatsPeer &peer)
{
    StatsPeerView view;
    view.name  = peer.name.load();
    view.state = peer.state.load();
    view.path  = peer.path.load();
    view.side  = peer.side.load();
    view.cause = peer.cause.load();
    for (std::size_t i = 0; i < view.values.size(); ++i) {
        view.values[i] = peer.values[i].load(std::memory_order_acquire);
    }
    for (std::size_t i = 0; i < view.below.size(); ++i) {
        view.below[i] = peer.below[i].load(std::memory_order_acquire);
    }
    return view;
}

void read_values(const StatsPage &page, StatsView &view)
{
    for (std::size_t i = 0; i < view.metrics.size(); ++i) {
        view.metrics[i].value = page.values[i].load(std::memory_order_acquire);
    }
    view.peers.clear();
    const std::uint64_t peers = std::min<std::uint64_t>(
            page.peer_count.load(std::memory_order_acquire), page.peers.size());
    for (std::size_t i = 0; i < peers; ++i) {
        view.peers.push_back(read(page.peers[i]));
    }
}

} // namespace

const char *to_string(StatsMetric::Kind kind) noexcept
{
    switch (kind) {
    case StatsMetric::Kind::total:
        return "total";
    case StatsMetric::Kind::now:
        return "now";
    case StatsMetric::Kind::bucket:
        return "bucket";
    }
    return "unknown";
}

StatsView read(const StatsPage &page)
{
    StatsView view;
    const auto end = std::find(page.device.begin(), page.device.end(), '\0');
    view.process   = page.process;
    view.device.assign(page.device.begin(), end);

    const std::size_t size = std::min<std::size_t>(page.names_size, page.names.size());
    std::string_view names(page.names.data(), size);
    while (!names.empty() && view.metrics.size() < page.values.size()) {
        const std::size_t line = std::min(names.find('\n'), names.size());
        view.metrics.push_back(parse(names.substr(0, line)));
        names.remove_prefix(std::min(line + 1, names.size()));
    }
    for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
        const std::uint64_t before = page.sequence.load(std::memory_order_acquire);
        read_values(page, view);
        if ((before & 1) == 0 &&
            page.sequence.load(std::memory_order_acquire) == before) {
            break;
        }
    }
    return view;
}

} // namespace be::core
