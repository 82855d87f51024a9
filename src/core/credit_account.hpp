// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of message credit: one object for each peer that we send to.
//
// A message may be posted only while fewer were used than granted, which is what makes a
// receiver-not-ready NAK impossible (receive_pool.hpp has the argument). Who has none
// left sends a request, one at a time, and each is answered once.

#pragma once

#include "core/total_account.hpp"

namespace be::core {

/* No receive queue is as long as 2^30. */
class CreditAccount : public TotalAccount<1u << 30> {
public:
    /* One request asks for at most this many messages, so that the 28 bits on the wire
     * stay unambiguous. */
    static constexpr uint32_t max_queued = 1 << 24;

    explicit CreditAccount(uint32_t first_total = 0) :
        TotalAccount(first_total), m_demand(first_total)
    {
    }

    /* Should the peer be asked? True when messages are queued, no credit is left and no
     * request is on its way. */
    bool request_due(uint32_t queued) const
    {
        return (queued != 0) && !m_request_outstanding && (available() == 0);
    }

    /* Starts a request for all `queued` messages; returns the demand total to send: used
     * + queued. */
    uint32_t start_request(uint32_t queued)
    {
        m_demand              = m_used + std::min(queued, max_queued);
        m_asked               = serial_max(m_asked, m_demand);
        m_request_outstanding = true;
        return m_demand;
    }

    /* The peer's answer arrived, and update() was told its total. Each request has
     * exactly one. What it asked for beyond that total is forgotten by both ends. */
    void request_answered()
    {
        m_request_outstanding = false;
        if (serial_less(m_granted, m_asked)) {
            m_asked = m_granted;
        }
    }

    bool request_outstanding() const
    {
        return m_request_outstanding;
    }

    /* The demand total of the latest request. */
    uint32_t demand() const
    {
        return m_demand;
    }

private:
    uint32_t m_demand;
    bool m_request_outstanding = false;
};

} // namespace be::core
