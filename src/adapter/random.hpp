// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>

namespace be::adapter {

// From the system's source; never 0.
inline uint64_t random_number()
{
    std::random_device source;
    const uint64_t high = source();
    const uint64_t all  = (high << 32) | source();
    return (all == 0) ? 1 : all;
}

} // namespace be::adapter
