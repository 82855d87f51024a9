// SPDX-License-Identifier: BSD-3-Clause
//
// What a page of statistics (stats_page.hpp) says. It may be another process's, which is believed as far as it fits.

#pragma once

#include "core/stats_page.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace be::core {

struct StatsMetric {
    // A total only grows. A bucket is a total that belongs to the histogram it is named after.
    enum class Kind {
        total,
        now,
        bucket
    };

    std::string name;
    std::string unit; // "count", "bytes", "ns"
    std::string help;
    Kind kind           = Kind::total;
    std::uint64_t value = 0;
};

struct StatsPeerView {
    std::string name;
    std::string state;
    std::string path;
    std::string side;
    std::string cause;
    std::array<std::uint64_t, StatsPeer::value_count> values{};
    std::array<std::uint64_t, recovery_bounds_us.size()> below{};
};

struct StatsView {
    std::uint64_t process = 0;
    std::string device;
    std::vector<StatsMetric> metrics;
    std::vector<StatsPeerView> peers;
};

// Never null: "total", "now", "bucket", as a page has it.
const char *to_string(StatsMetric::Kind kind) noexcept;

// The values are of one moment unless the process writes all the time.
StatsView read(const StatsPage &page);

} // namespace be::core
