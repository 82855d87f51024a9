// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace be::tools {

/**
 * Durations in nanoseconds, in buckets that are at most 1/64 of their value wide: adding
 * one costs a few instructions, and percentiles are exact to 1.6 %.
 */
class Histogram {
public:
    static constexpr unsigned precision = 6; // bits below the highest one

    void add(uint64_t value) noexcept
    {
        m_buckets[index_of(value)]++;
        m_count++;
        m_sum += static_cast<double>(value);
        m_max = std::max(m_max, value);
    }

    void merge(const Histogram &other) noexcept
    {
        for (size_t i = 0; i < m_buckets.size(); i++) {
            m_buckets[i] += other.m_buckets[i];
        }
        m_count += other.m_count;
        m_sum += other.m_sum;
        m_max = std::max(m_max, other.m_max);
    }

    uint64_t count() const noexcept
    {
        return m_count;
    }

    double mean() const noexcept
    {
        return (m_count == 0) ? 0 : m_sum / static_cast<double>(m_count);
    }

    uint64_t max() const noexcept
    {
        return m_max;
    }

    /** The value that `share` (0 to 1) of all are not above; the middle of its bucket. */
    uint64_t percentile(double share) const noexcept
    {
        const double rank = share * static_cast<double>(m_count);
        uint64_t below    = 0;
        for (size_t i = 0; i < m_buckets.size(); i++) {
            below += m_buckets[i];
            if ((m_buckets[i] != 0) && (static_cast<double>(below) >= rank)) {
                return std::min(m_max, middle_of(i));
            }
        }
        return m_max;
    }

    /** For another process: sum, maximum, then index and count of each bucket in use. */
    std::vector<double> dump() const
    {
        std::vector<double> all = {m_sum, static_cast<double>(m_max)};
        for (size_t i = 0; i < m_buckets.size(); i++) {
            if (m_buckets[i] != 0) {
                all.push_back(static_cast<double>(i));
                all.push_back(static_cast<double>(m_buckets[i]));
            }
        }
        return all;
    }

    /** What dump() gave; what does not fit is left out. */
    void merge_dump(const std::vector<double> &all) noexcept
    {
        if (all.size() < 2) {
            return;
        }
        m_sum += all[0];
        m_max = std::max(m_max, static_cast<uint64_t>(all[1]));
        for (size_t i = 2; i + 1 < all.size(); i += 2) {
            const auto index = static_cast<size_t>(all[i]);
            if (index < m_buckets.size()) {
                m_buckets[index] += static_cast<uint64_t>(all[i + 1]);
                m_count += static_cast<uint64_t>(all[i + 1]);
            }
        }
    }

private:
    static constexpr uint64_t linear = uint64_t{1} << (precision + 1);

    static size_t index_of(uint64_t value) noexcept
    {
        if (value < linear) {
            return value;
        }
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - precision -
                               1;
        return (static_cast<size_t>(shift) << precision) + (value >> shift);
    }

    static uint64_t middle_of(size_t index) noexcept
    {
        if (index < linear) {
            return index;
        }
        const unsigned shift = static_cast<unsigned>(index >> precision) - 1;
        const uint64_t low   = ((index & ((1u << precision) - 1)) | (1u << precision))
                             << shift;
        return low + ((uint64_t{1} << shift) / 2);
    }

    std::array<uint64_t, (65 - precision) << precision> m_buckets{};
    uint64_t m_count = 0;
    double m_sum     = 0;
    uint64_t m_max   = 0;
};

} // namespace be::tools
