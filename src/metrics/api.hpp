// SPDX-License-Identifier: BSD-3-Clause
//
// libbe_metrics.so, as the engine calls it. It brings an HTTP server along, so it is a library of its own, loaded by
// processes that are told to serve their metrics and by no others.

#pragma once

#include "core/stats_page.hpp"

#include <cstddef>
#include <cstdint>

namespace be::metrics {

struct Api {
    std::uint64_t layout; // StatsPage::current_magic that it was built with

    // Listens where UCX_BE_METRICS says (where.hpp). False: `text` says why not; true: where. Once until stop().
    bool (*start)(const char *where, char *text, std::size_t size) noexcept;
    void (*stop)() noexcept;

    // Pages that are served; their addresses are good until they are removed. Any thread.
    bool (*add)(core::StatsPage *page) noexcept; // false: no memory
    void (*remove)(core::StatsPage *page) noexcept;
};

inline constexpr char library[] = "libbe_metrics.so";
inline constexpr char entry[]   = "be_metrics_api"; // of type Entry
using Entry                     = const Api *();

} // namespace be::metrics
