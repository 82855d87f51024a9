// SPDX-License-Identifier: BSD-3-Clause
//
// A message that has been packed, or whose completion has been promised, and that waits for byte credit: how large a
// message is shows only when it is packed, which can be done once. Those of its link that are packed later wait behind
// it, whatever their size, up to max_parked: the peer hears of all their bytes, and grants them together.

#pragma once

#include "engine/c_api.h"
#include "engine/fifo.hpp"
#include "engine/send_queue.hpp"

#include <array>
#include <cstdint>

namespace be::engine {

class Link;

inline constexpr unsigned max_parked = 8; // of a link

struct Parked {
    Parked *next         = nullptr; // in Peer::parked, or in stock
    Link *link           = nullptr;
    std::uint8_t am_id   = 0;
    int sge_count        = 0;
    std::uint32_t length = 0; // bytes of payload
    Slot slot; // holds the buffer, of which the first bytes are for the data header, and the byte credit it takes
    std::array<ibv_sge, BE_MAX_SGE + 1> sges;
};

// Those of a peer, in the order in which they came; owns nothing.
class ParkedQueue {
public:
    bool empty() const noexcept
    {
        return m_messages.empty();
    }

    unsigned size() const noexcept
    {
        return m_messages.size();
    }

    // How many take byte credit,
    unsigned large() const noexcept
    {
        return m_large;
    }

    // and how much that is.
    std::uint64_t bytes() const noexcept
    {
        return m_bytes;
    }

    Parked *front() const noexcept
    {
        return m_messages.front();
    }

    void push(Parked *message) noexcept
    {
        m_large += message->slot.bytes != 0;
        m_bytes += message->slot.bytes;
        m_messages.push(message);
    }

    Parked *pop() noexcept
    {
        m_large -= front()->slot.bytes != 0;
        m_bytes -= front()->slot.bytes;
        return m_messages.pop();
    }

private:
    Fifo<Parked> m_messages;
    unsigned m_large      = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace be::engine
