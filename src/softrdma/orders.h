// SPDX-License-Identifier: BSD-3-Clause
//
// Faults on their way from the program `softrdma` to a process: a small ring in the registry. Writers hold
// the registry's file lock; the process takes them on its service thread and says so, since a fault
// that was ordered is a fault that has begun (or is on its schedule).
#pragma once

#include "fault.h"

#include <atomic>
#include <cstdint>

namespace softrdma {

inline constexpr uint32_t order_slots = 16;

struct alignas(64) order_box {
    std::atomic<uint32_t> posted;
    std::atomic<uint32_t> taken;
    fault orders[order_slots]; // by sequence number
    int32_t hits[order_slots]; // what a taken one hit: queue pairs, ports or processes
};

} // namespace softrdma
