// SPDX-License-Identifier: BSD-3-Clause
//
// The histogram of recoveries as it is shown: few bounds, each four times the one before, and how many recoveries took
// less. The buckets of RecoveryStats, which are powers of two, add up to it without loss.

#pragma once

#include "core/recovery_types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace be::core {

inline constexpr std::array<std::uint64_t, 9> recovery_bounds_us{1u << 8,  1u << 10,
                                                                 1u << 12, 1u << 14,
                                                                 1u << 16, 1u << 18,
                                                                 1u << 20, 1u << 22,
                                                                 1u << 24};

using RecoveryDurations = std::array<std::uint64_t, RecoveryStats::buckets>;

constexpr std::size_t recovery_bucket(std::uint64_t took_ns) noexcept
{
    std::size_t bucket = 0;
    for (std::uint64_t us = took_ns / 1000; us != 0; us >>= 1) {
        ++bucket;
    }
    return bucket < RecoveryStats::buckets ? bucket : RecoveryStats::buckets - 1;
}

// How many took less than recovery_bounds_us[i], for each i.
constexpr std::array<std::uint64_t, recovery_bounds_us.size()>
recoveries_below(const RecoveryDurations &durations) noexcept
{
    std::array<std::uint64_t, recovery_bounds_us.size()> below{};
    for (std::size_t i = 0; i < below.size(); ++i) {
        for (std::size_t b = 0; b < durations.size(); ++b) {
            const bool under = (std::uint64_t{1} << b) <= recovery_bounds_us[i];
            below[i] += under ? durations[b] : 0;
        }
    }
    return below;
}

} // namespace be::core
