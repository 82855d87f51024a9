// SPDX-License-Identifier: BSD-3-Clause
#include "tools/stats/stats.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace be::tools {

namespace {

using core::StatsPeer;
using core::StatsPeerView;

constexpr int json_schema_version = 1;

double to_ms(uint64_t ns)
{
    return static_cast<double>(ns) / 1e6;
}

std::string last_loss(const StatsPeerView &peer)
{
    return peer.values[StatsPeer::losses] == 0 ?
                   std::string() :
                   fmt::format("    lost {} time{}, last by a {} fault: {}\n",
                               peer.values[StatsPeer::losses],
                               peer.values[StatsPeer::losses] == 1 ? "" : "s", peer.side,
                               peer.cause);
}

std::string durations(const StatsPeerView &peer)
{
    std::string text;
    uint64_t before = 0;
    for (size_t i = 0; i < peer.below.size(); i++) {
        if (peer.below[i] != before) {
            text += fmt::format(", {} below {:g} ms", peer.below[i] - before,
                                double(core::recovery_bounds_us[i]) / 1e3);
            before = peer.below[i];
        }
    }
    if (peer.values[StatsPeer::recoveries] > before) {
        text += fmt::format(", {} longer", peer.values[StatsPeer::recoveries] - before);
    }
    return text;
}

std::string to_text(const StatsPeerView &peer)
{
    std::string text = fmt::format("  {}: {}, path {}, epoch {}\n", peer.name, peer.state,
                                   peer.path, peer.values[StatsPeer::epoch]);
    text += last_loss(peer);
    if (peer.values[StatsPeer::recoveries] != 0) {
        text += fmt::format("    recovered {} time{}, last in {:.3f} ms{}\n",
                            peer.values[StatsPeer::recoveries],
                            peer.values[StatsPeer::recoveries] == 1 ? "" : "s",
                            to_ms(peer.values[StatsPeer::last_time]), durations(peer));
    }
    return text;
}

std::string peers_to_text(const InterfaceStats &stats, bool all)
{
    uint64_t count = stats.peers.size();
    for (const core::StatsMetric &metric : stats.metrics) {
        count = (metric.name == "peers") ? metric.value : count;
    }
    std::string text;
    for (const StatsPeerView &peer : stats.peers) {
        if (all || (peer.values[StatsPeer::losses] != 0)) {
            text += to_text(peer);
        }
    }
    if (all && (count > stats.peers.size())) {
        text += fmt::format("  {} other peers, whose path was not lost, or earlier\n",
                            count - stats.peers.size());
    }
    return text;
}

nlohmann::ordered_json to_json(const StatsPeerView &peer)
{
    nlohmann::ordered_json histogram = nlohmann::ordered_json::array();
    for (size_t i = 0; i < peer.below.size(); i++) {
        histogram.push_back(
                {{"below_us", core::recovery_bounds_us[i]}, {"count", peer.below[i]}});
    }
    nlohmann::ordered_json object = {{"name", peer.name},
                                     {"state", peer.state},
                                     {"path", peer.path},
                                     {"epoch", peer.values[StatsPeer::epoch]},
                                     {"losses", peer.values[StatsPeer::losses]},
                                     {"recoveries", peer.values[StatsPeer::recoveries]}};
    if (peer.values[StatsPeer::losses] != 0) {
        object["last_loss"] = {{"side", peer.side},
                               {"cause", peer.cause},
                               {"queue_pair", peer.values[StatsPeer::queue_pair]},
                               {"status", peer.values[StatsPeer::status]},
                               {"vendor_error", peer.values[StatsPeer::vendor_error]}};
    }
    object["last_recovery_ns"]     = peer.values[StatsPeer::last_time];
    object["recoveries_cumulated"] = histogram;
    return object;
}

} // namespace

std::string to_text(const std::vector<InterfaceStats> &stats, bool zeros)
{
    std::string text;
    for (const InterfaceStats &one : stats) {
        text += fmt::format("Process {}, {}{}\n", one.process, one.device,
                            one.fresh ? "" :
                                        " (asleep or busy: as of its last progress)");
        for (const core::StatsMetric &metric : one.metrics) {
            if (zeros || (metric.value != 0)) {
                text += fmt::format("  {:<29} {:>14} {:<6} {}\n", metric.name,
                                    metric.value, metric.unit, metric.help);
            }
        }
        text += peers_to_text(one, zeros);
    }
    return text;
}

std::string to_json(const std::vector<InterfaceStats> &stats)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();

    for (const InterfaceStats &one : stats) {
        nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
        nlohmann::ordered_json peers   = nlohmann::ordered_json::array();
        for (const core::StatsMetric &metric : one.metrics) {
            metrics[metric.name] = metric.value;
        }
        for (const StatsPeerView &peer : one.peers) {
            peers.push_back(to_json(peer));
        }
        list.push_back({{"process", one.process},
                        {"device", one.device},
                        {"fresh", one.fresh},
                        {"metrics", metrics},
                        {"peers", peers}});
    }
    const nlohmann::ordered_json object = {{"schema_version", json_schema_version},
                                           {"interfaces", list}};
    return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace be::tools
