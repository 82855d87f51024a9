// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of byte credit: one object for each peer that we write to, and one
// for each that we read from (there the peer is ourselves, see byte_pool.hpp). Counted in
// units of a fixed number of bytes.
//
// The peer hears how far we want to be granted with each piece that is written, and by a
// request when it believes us satisfied.

#pragma once

#include "core/total_account.hpp"

namespace be::core {

/* Nor is more than 2^24 units asked for at once: it keeps the 28 bits on the wire
 * unambiguous. */
class ByteAccount : public TotalAccount<1u << 24> {
public:
    using TotalAccount::TotalAccount;

    /* How far we want to be granted, with `queued` units waiting. */
    uint32_t demand(uint32_t queued) const
    {
        return m_used + std::min(queued, max_step);
    }

    /* Does the peer believe that we are satisfied while we are not? */
    bool request_due(uint32_t queued) const
    {
        return serial_less(m_granted, demand(queued)) && !serial_less(m_granted, m_asked);
    }

    /* The demand is on its way to the peer. */
    void report(uint32_t demand_total)
    {
        m_asked = serial_max(m_asked, demand_total);
    }

    /* What was reported last may not have reached the peer. */
    void forget_asked()
    {
        m_asked = serial_max(m_used, m_granted);
    }
};

} // namespace be::core
