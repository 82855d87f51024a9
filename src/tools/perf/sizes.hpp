// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace be::tools {

/**
 * How large values are: "64", "4k", "uniform:1k-64k", "lognormal:256-64k" (the bounds are
 * the 1st and the 99th percentile, and cut off), "zipf:64-64k" (powers of two, each half as
 * likely as the one before), "trace:FILE" (one size a line, in turn).
 */
class Sizes {
public:
    /** @throws std::invalid_argument naming the text and what is accepted. */
    explicit Sizes(const std::string &text);

    size_t draw(std::mt19937_64 &random);

    size_t largest() const noexcept
    {
        return m_high;
    }

private:
    enum class Kind {
        uniform,
        lognormal,
        zipf,
        trace
    };

    Kind m_kind   = Kind::uniform;
    size_t m_low  = 0;
    size_t m_high = 0;
    std::vector<size_t> m_trace;
    size_t m_at = 0;
};

/** "65536", "64k", "1m". @throws std::invalid_argument. */
size_t parse_size(const std::string &text);

} // namespace be::tools
