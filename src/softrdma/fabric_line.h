// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes and the time they take on a line of a rate in bits per second; 0 is a line without limit.
#pragma once

#include <cmath>
#include <cstdint>

namespace softrdma {

inline uint64_t line_ns(uint64_t bytes, uint64_t rate)
{
    return (rate == 0) ? 0 :
                         static_cast<uint64_t>(
                                 std::llround(double(bytes) * 8e9 / double(rate)));
}

// What is left at `now` of a buffer that is empty at `drained`.
inline uint64_t line_bytes(uint64_t drained, uint64_t now, uint64_t rate)
{
    return (drained <= now) ? 0 :
                              static_cast<uint64_t>(std::llround(double(drained - now) *
                                                                 double(rate) / 8e9));
}

} // namespace softrdma
