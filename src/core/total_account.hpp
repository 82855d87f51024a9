// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of credit of any kind: what a peer has granted, as a running total,
// and what was used of it. Messages (credit_account.hpp) and bytes (byte_account.hpp)
// add how they are asked for.
//
// Totals start at the same number on both ends and are compared with serial arithmetic.
//
// Not thread safe; the owner serialises calls. No call allocates or fails.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/serial.hpp"

namespace be::core {

/* MaxStep: more in hand than this cannot be true. It keeps the totals comparable. */
template<uint32_t MaxStep>
class TotalAccount {
public:
    static constexpr uint32_t max_step = MaxStep;

    explicit TotalAccount(uint32_t first_total = 0) :
        m_granted(first_total), m_used(first_total), m_asked(first_total)
    {
    }

    /* What may be used now. */
    uint32_t available() const
    {
        return m_granted - m_used;
    }

    /* False, and nothing taken, when there is not as much. */
    bool take(uint32_t amount = 1)
    {
        if (available() < amount) {
            return false;
        }
        m_used += amount;
        return true;
    }

    /* What was taken last was not used, or not all of it. Only before the peer is told
     * anything else. */
    void untake(uint32_t amount = 1)
    {
        m_used -= amount;
    }

    /* The peer's total, told in any order and any number of times. True when it grew. A
     * total that is behind changes nothing; one that is implausibly far ahead changes
     * nothing either and is counted in refused(). */
    bool update(uint32_t granted_total)
    {
        int32_t step = serial_diff(granted_total, m_granted);

        if (step <= 0) {
            return false;
        }
        if (int64_t{step} + available() > MaxStep) {
            ++m_refused;
            return false;
        }
        m_granted = granted_total;
        m_asked   = serial_max(m_asked, m_used); /* keeps them comparable */
        return true;
    }

    /* Credit held, or part of it, that was asked for by what exists no more, with
     * `queued` left. */
    uint32_t surplus(uint32_t queued) const
    {
        int64_t orphaned = int64_t{serial_diff(m_asked, m_used)} - int64_t{queued};

        return static_cast<uint32_t>(std::clamp<int64_t>(orphaned, 0, available()));
    }

    /* Gives back all but `keep`; how much that is. It counts as used: tell the peer
     * returned(). */
    uint32_t give_back(uint32_t keep)
    {
        uint32_t amount = available() - std::min(available(), keep);

        m_used += amount;
        m_returned += amount;
        m_asked = serial_max(m_asked, m_used);
        return amount;
    }

    /* Gives back what was taken and will not be used. */
    void return_taken(uint32_t amount)
    {
        m_returned += amount;
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

    /* Implausible updates that were ignored. */
    uint32_t refused() const
    {
        return m_refused;
    }

protected:
    uint32_t m_granted;
    uint32_t m_used;
    uint32_t m_asked; /* how far the peer knows that we want to be granted */
    uint32_t m_returned = 0;
    uint32_t m_refused  = 0;
};

} // namespace be::core
