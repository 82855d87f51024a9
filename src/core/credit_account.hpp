// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of message credit: one object for each peer that we send to.
//
// The peer grants messages as a running total. A message may be posted only while fewer
// were used than granted, which is what makes a receiver-not-ready NAK impossible
// (receive_pool.hpp has the argument). Totals start at the same number on both ends and
// are compared with serial arithmetic.
//
// Byte credit is another account beside this one (byte_account.hpp).
//
// Not thread safe; the owner serialises calls. No call allocates or fails.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/serial.hpp"

namespace be::core {

class CreditAccount {
public:
    /* More credit than this cannot be true, since no receive queue is as long. It also keeps
     * granted and used comparable. */
    static constexpr int32_t max_step = 1 << 30;

    /* One request asks for at most this many messages, so that the 28 bits on the wire
     * stay unambiguous. */
    static constexpr uint32_t max_queued = 1 << 24;

    explicit CreditAccount(uint32_t first_total = 0) :
        m_granted(first_total),
        m_used(first_total),
        m_asked(first_total),
        m_demand(first_total)
    {
    }

    /* Messages that may be posted now. */
    uint32_t available() const
    {
        return m_granted - m_used;
    }

    /* Use one credit for each of `count` SENDs. False, and nothing taken, when there are
     * not as many. */
    bool take(uint32_t count = 1)
    {
        if (available() < count) {
            return false;
        }
        m_used += count;
        return true;
    }

    /* Undo the latest take(): the SEND was not posted. Only before anything else is
     * taken. */
    void untake()
    {
        --m_used;
    }

    /* The peer's total as a header, a cell or a handshake told it, in any order and any
     * number of times. Returns true when it grew. A total that is behind changes nothing;
     * one that is implausibly far ahead changes nothing either and is counted in
     * refused(). */
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
        m_granted = granted_total;
        m_asked   = serial_max(m_asked, m_used); /* keeps them comparable */
        return true;
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

    /* Credit held for messages that were asked for but no longer exist because they were
     * cancelled, with `queued` messages left. The sender owes its use: see
     * receive_pool.hpp on why. */
    uint32_t surplus(uint32_t queued) const
    {
        int64_t orphaned = int64_t{serial_diff(m_asked, m_used)} - int64_t{queued};

        return static_cast<uint32_t>(std::clamp<int64_t>(orphaned, 0, available()));
    }

    /* Gives back all but `keep`; how many that are. They count as used: tell the peer
     * returned(). */
    uint32_t give_back(uint32_t keep)
    {
        uint32_t count = available() - std::min(available(), keep);

        m_used += count;
        m_returned += count;
        m_asked = serial_max(m_asked, m_used);
        return count;
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

    /* The demand total of the latest request. */
    uint32_t demand() const
    {
        return m_demand;
    }

    /* Implausible updates that were ignored. */
    uint32_t refused() const
    {
        return m_refused;
    }

private:
    uint32_t m_granted;
    uint32_t m_used;
    uint32_t m_asked; /* how far the peer may have granted because it was asked */
    uint32_t m_demand;
    uint32_t m_returned        = 0;
    uint32_t m_refused         = 0;
    bool m_request_outstanding = false;
};

} // namespace be::core
