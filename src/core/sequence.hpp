// SPDX-License-Identifier: BSD-3-Clause
//
// Message sequence numbers of one peer, one object for each direction.
//
// A number is given to each message once, in the order of posting; a replay carries the
// number the message had. The receiver delivers in order and exactly once by comparing
// with the next number it expects.

#pragma once

#include <cstdint>

#include "core/serial.hpp"

namespace be::core {

/* Sender: what was numbered and how far the peer is known to have it. */
class SendSequence {
public:
    explicit SendSequence(uint32_t first = 0) : m_first(first), m_acknowledged(first)
    {
    }

    /* The number of the next message; takes it. */
    uint32_t take()
    {
        return static_cast<uint32_t>(m_first + m_taken++);
    }

    /* Everything before `upto` has arrived. Repeats and steps back change nothing; a
     * value that was never sent is refused. Returns how many messages this newly
     * acknowledged. */
    uint32_t acknowledge(uint32_t upto)
    {
        int32_t fresh = serial_diff(upto, m_acknowledged);

        if ((fresh <= 0) || serial_less(next(), upto)) {
            return 0;
        }
        m_acknowledged = upto;
        return static_cast<uint32_t>(fresh);
    }

    uint32_t next() const
    {
        return static_cast<uint32_t>(m_first + m_taken);
    }

    /* How many were ever taken; does not wrap. */
    uint64_t taken() const
    {
        return m_taken;
    }

    /* First number not known to have arrived: where a replay starts. */
    uint32_t acknowledged() const
    {
        return m_acknowledged;
    }

    uint32_t unacknowledged() const
    {
        return next() - m_acknowledged;
    }

private:
    uint32_t m_first;
    uint32_t m_acknowledged;
    uint64_t m_taken = 0;
};

enum class SequenceVerdict : uint8_t {
    in_order, /* deliver it */
    duplicate, /* was delivered before: drop it */
    gap /* something before it is missing: the connection is broken */
};

/* Receiver: what arrived. */
class ReceiveSequence {
public:
    explicit ReceiveSequence(uint32_t first = 0) : m_expected(first)
    {
    }

    /* Advances only on in_order. */
    SequenceVerdict accept(uint32_t seq)
    {
        int32_t ahead = serial_diff(seq, m_expected);

        if (ahead == 0) {
            ++m_expected;
            return SequenceVerdict::in_order;
        }
        return (ahead < 0) ? SequenceVerdict::duplicate : SequenceVerdict::gap;
    }

    /* Everything before this has arrived: what a recovery tells the peer. */
    uint32_t expected() const
    {
        return m_expected;
    }

private:
    uint32_t m_expected;
};

} // namespace be::core
