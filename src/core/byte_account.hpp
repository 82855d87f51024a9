// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of byte credit: one object for each peer that we write to, and one
// for each that we read from (there the peer is ourselves, see byte_pool.hpp).
//
// Everything is counted in units of a fixed number of bytes; totals are compared with
// serial arithmetic, like those of messages.
//
// Not thread safe; the owner serialises calls. No call allocates or fails.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/serial.hpp"

namespace be::core {

class ByteAccount {
public:
    /* More than this cannot be true, nor is it asked for at once: 2^24 units. It keeps
     * the 28 bits on the wire unambiguous. */
    static constexpr uint32_t max_step = 1u << 24;

    explicit ByteAccount(uint32_t first_total = 0) :
        m_granted(first_total), m_used(first_total), m_reported(first_total)
    {
    }

    uint32_t available() const
    {
        return m_granted - m_used;
    }

    /* False, and nothing taken, when there are not as many. */
    bool take(uint32_t units)
    {
        if (available() < units) {
            return false;
        }
        m_used += units;
        return true;
    }

    /* The peer's total, told in any order and any number of times. True when it grew. An
     * implausible one changes nothing and is counted. */
    bool update(uint32_t granted_total)
    {
        int32_t step = serial_diff(granted_total, m_granted);

        if (step <= 0) {
            return false;
        }
        if (int64_t{step} + available() > max_step) {
            ++m_refused;
            return false;
        }
        m_granted  = granted_total;
        m_reported = serial_max(m_reported, m_used); /* keeps them comparable */
        return true;
    }

    /* How far we want to be granted, with `queued` units waiting. */
    uint32_t demand(uint32_t queued) const
    {
        return m_used + std::min(queued, max_step);
    }

    /* Does the peer believe that we are satisfied while we are not? */
    bool request_due(uint32_t queued) const
    {
        return serial_less(m_granted, demand(queued)) &&
               !serial_less(m_granted, m_reported);
    }

    /* The demand is on its way to the peer. */
    void report(uint32_t demand_total)
    {
        m_reported = serial_max(m_reported, demand_total);
    }

    /* Credit held, or part of it, that was asked for by what exists no more. */
    uint32_t surplus(uint32_t queued) const
    {
        int64_t orphaned = int64_t{serial_diff(m_reported, m_used)} - int64_t{queued};

        return static_cast<uint32_t>(std::clamp<int64_t>(orphaned, 0, available()));
    }

    /* Gives back all but `keep`; how many that are. They count as used: tell the peer
     * returned(). */
    uint32_t give_back(uint32_t keep)
    {
        uint32_t units = available() - std::min(available(), keep);

        m_used += units;
        m_returned += units;
        return units;
    }

    /* Total given back. */
    uint32_t returned() const
    {
        return m_returned;
    }

    uint32_t granted() const
    {
        return m_granted;
    }

    uint32_t used() const
    {
        return m_used;
    }

    uint32_t refused() const
    {
        return m_refused;
    }

private:
    uint32_t m_granted;
    uint32_t m_used;
    uint32_t m_reported; /* the demand that the peer has heard of */
    uint32_t m_returned = 0;
    uint32_t m_refused  = 0;
};

} // namespace be::core
