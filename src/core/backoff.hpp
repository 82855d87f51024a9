// SPDX-License-Identifier: BSD-3-Clause
//
// How long to wait before trying again: nothing after a first failure, then a wait that
// doubles with each failure in a row, up to a bound. Each wait is cut at random to 50..100 %,
// so that many peers that failed together do not come back together.
//
// Times in nanoseconds. Not thread safe. No call allocates.

#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/recovery_types.hpp"

namespace be::core {

class Backoff {
public:
    /* Any seed will do. Throws std::invalid_argument. */
    Backoff(const BackoffConfig &config, uint64_t seed) :
        m_config(config), m_random(seed ^ 0x9e3779b97f4a7c15)
    {
        if (config.first_ns == 0) {
            throw std::invalid_argument("back-off starts at 0 ns, expected at least 1");
        }
        if (config.max_ns < config.first_ns) {
            throw std::invalid_argument("longest back-off is " +
                                        std::to_string(config.max_ns) +
                                        " ns, expected at least the first, which is " +
                                        std::to_string(config.first_ns) + " ns");
        }
        if (m_random == 0) { /* xorshift would stay there */
            m_random = 1;
        }
    }

    /* A failure, after `good_ns` of good working. Returns the wait. */
    uint64_t failed(uint64_t good_ns)
    {
        if (good_ns >= m_config.stable_ns) {
            m_wait_ns = 0;
        }

        uint64_t wait_ns = m_wait_ns;

        m_wait_ns = (wait_ns == 0) ? m_config.first_ns :
                                     std::min(m_config.max_ns, doubled(wait_ns));
        return wait_ns / 2 + (wait_ns != 0 ? random() % (wait_ns - wait_ns / 2 + 1) : 0);
    }

private:
    static uint64_t doubled(uint64_t value)
    {
        return (value > UINT64_MAX / 2) ? UINT64_MAX : 2 * value;
    }

    uint64_t random()
    {
        m_random ^= m_random << 13;
        m_random ^= m_random >> 7;
        m_random ^= m_random << 17;
        return m_random;
    }

    BackoffConfig m_config;
    uint64_t m_random;
    uint64_t m_wait_ns = 0; /* of the next failure, before jitter */
};

} // namespace be::core
