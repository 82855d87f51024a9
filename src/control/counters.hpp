// SPDX-License-Identifier: BSD-3-Clause
//
// What the control channel of this process has done since it started.

#pragma once

#include "control/reason.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace be::control {

// A snapshot. All but the two gauges only ever grow.
struct Counters {
    std::uint64_t accepted      = 0; // TCP connections taken from a listening socket
    std::uint64_t dialed        = 0; // TCP connections attempted, retries included
    std::uint64_t authenticated = 0; // handshakes completed, both directions
    std::uint64_t accept_errors = 0; // accept() failures (out of descriptors, ...)
    std::uint64_t throttled     = 0; // incoming, closed at once: too many failures before
    std::uint64_t over_limit =
            0; // incoming, turned away for ListenOptions::max_connections
    std::uint64_t slow_readers    = 0; // ended for Settings::max_queued
    std::uint64_t probes_answered = 0; // with yes; with no: rejected (unknown fabric)
    std::uint64_t bytes_in        = 0;
    std::uint64_t bytes_out       = 0;
    std::uint64_t messages_in     = 0;
    std::uint64_t messages_out    = 0;
    std::uint64_t connections     = 0; // gauge: TCP connections open now
    std::uint64_t half_open       = 0; // gauge: those not yet through the handshake

    // Incoming connections that ended before they reached a fabric.
    std::array<std::uint64_t, reason_count> rejected{};

    // Connections that ended with on_closed().
    std::array<std::uint64_t, reason_count> closed{};
};

// Same fields, written by the control thread and read by any. Relaxed: each is
// exact, but a snapshot taken under load need not be consistent across fields.
class LiveCounters {
public:
    using Cell = std::atomic<std::uint64_t>;

    Cell accepted{0};
    Cell dialed{0};
    Cell authenticated{0};
    Cell accept_errors{0};
    Cell throttled{0};
    Cell over_limit{0};
    Cell slow_readers{0};
    Cell probes_answered{0};
    Cell bytes_in{0};
    Cell bytes_out{0};
    Cell messages_in{0};
    Cell messages_out{0};
    Cell connections{0};
    Cell half_open{0};
    std::array<Cell, reason_count> rejected{};
    std::array<Cell, reason_count> closed{};

    static void add(Cell &cell, std::uint64_t n = 1) noexcept
    {
        cell.fetch_add(n, std::memory_order_relaxed);
    }

    static void subtract(Cell &cell, std::uint64_t n = 1) noexcept
    {
        cell.fetch_sub(n, std::memory_order_relaxed);
    }

    Counters snapshot() const noexcept;
};

} // namespace be::control
