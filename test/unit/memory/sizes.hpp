// SPDX-License-Identifier: BSD-3-Clause
//
// How many operations, of which sizes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace be::memory::test {

// Operations of one run: more with BE_TEST_OPERATIONS.
inline uint64_t operations(uint64_t otherwise)
{
    const char *text = getenv("BE_TEST_OPERATIONS");
    return (text != nullptr) ? strtoull(text, nullptr, 10) : otherwise;
}

// Between 2^low and 2^high bytes, each doubling as likely as the others.
inline size_t log_uniform(std::mt19937_64 &random, double low, double high)
{
    return static_cast<size_t>(
            std::exp2(std::uniform_real_distribution<double>(low, high)(random)));
}

// What services send: log-normal with a median of 8 KiB, 64 bytes to 4 MiB.
inline size_t message_size(std::mt19937_64 &random)
{
    std::lognormal_distribution<double> sizes(std::log(8192.0), 2.0);
    return static_cast<size_t>(std::clamp(sizes(random), 64.0, 4194304.0));
}

} // namespace be::memory::test
