// SPDX-License-Identifier: BSD-3-Clause
//
// Monotonic time in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace softrdma {

inline uint64_t now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

} // namespace softrdma
