// SPDX-License-Identifier: BSD-3-Clause
//
// How the way over TCP to a peer stands. Exists while data goes that way, so that others pay nothing for it.

#pragma once

#include "engine/tcp_frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace be::engine {

struct TcpPeer {
    // Counts itself in `open` while it exists.
    explicit TcpPeer(unsigned &open) noexcept : open(open)
    {
        ++open;
    }
    ~TcpPeer()
    {
        --open;
    }
    TcpPeer(const TcpPeer &)            = delete;
    TcpPeer &operator=(const TcpPeer &) = delete;

    // One of our send queues: [0] messages, [1] bulk.
    struct Outgoing {
        std::uint64_t next   = 0; // the work request to be sent next
        std::uint32_t offset = 0; // bytes of it that were sent
        std::uint64_t replayed =
                0; // of those before this one, what arrived by RDMA is left out
    };

    // One of the peer's.
    struct Incoming {
        std::optional<std::uint32_t> executed; // the last one
        std::optional<std::uint32_t> told; // as done
    };

    // What the peer reads of ours.
    struct Serving {
        std::uint32_t number;
        std::uint32_t key;
        std::uint64_t address;
        std::uint32_t length;
        std::uint32_t sent;
    };

    // What we read of the peer's.
    struct Reading {
        std::uint64_t number;
        std::uint32_t length;
        std::uint32_t got;
    };

    unsigned &open;
    std::array<Outgoing, 2> out;
    std::array<Incoming, 2> in;
    std::deque<Serving> serving; // in this order
    std::deque<Reading> reading; // likewise
    std::optional<TcpFrame> refusal; // to be told; nothing more is taken from the peer
    bool refused  = false;
    bool blocked  = false; // the channel takes nothing until it says so
    unsigned turn = 0; // who sends next: messages, bulk, what is read
    std::vector<std::byte> message; // that is coming in pieces
    std::vector<std::byte> gathered; // a piece on its way out, from several places
};

} // namespace be::engine
