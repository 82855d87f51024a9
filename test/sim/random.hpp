// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers that are the same with every standard library (the distributions of
// <random> are not).

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace be::sim {

class Random {
public:
    explicit Random(uint64_t seed) : m_engine(seed)
    {
    }

    uint32_t below(uint32_t bound)
    {
        return static_cast<uint32_t>(m_engine() % bound);
    }

    /* In [0, 1). */
    double uniform()
    {
        return static_cast<double>(m_engine() >> 11) * 0x1p-53;
    }

    double exponential(double mean)
    {
        return -std::log(1 - uniform()) * mean;
    }

    double normal()
    {
        double radius = std::sqrt(-2 * std::log(1 - uniform()));

        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

    /* Sizes of parameters: log-normal, median 64 KiB, sigma 2, cut to 1 KiB..4 MiB. */
    int64_t parameter_size()
    {
        double size = 65536 * std::exp(2 * normal());

        return static_cast<int64_t>(std::clamp(size, 1024.0, 4.0 * (1 << 20)));
    }

private:
    std::mt19937_64 m_engine;
};

} // namespace be::sim
