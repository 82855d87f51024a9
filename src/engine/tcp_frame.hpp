// SPDX-License-Identifier: BSD-3-Clause
//
// What travels over the side channel while there is no RDMA to a peer: work requests of its two send queues, in pieces,
// and what answers them. Each is one Data of the channel: a kind, this header of 32 bytes, and payload.
//
// docs/protocol.md has the layout. Everything is little-endian. decode() accepts only what this version defines, and only
// pieces that fit into their whole.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace be::engine {

struct TcpFrame {
    enum class Kind : std::uint8_t {
        message = 1, // a piece of one, its data header included
        write   = 2, // a piece of one
        read    = 3, // asks for bytes
        reply   = 4, // a piece of those
        done    = 5, // `number` and all before it on that queue are done
        refused = 6 // `number` was not allowed; `value`: a Refusal
    };

    Kind kind   = Kind::message;
    bool last   = false; // piece of its whole
    bool bulk   = false; // of the bulk queue, else the message queue
    bool notice = false; // last piece of a write: `value` is an immediate
    bool counted =
            false; // last piece of a write: `value` is the count of writes, this one included
    std::uint32_t number  = 0; // of the work request in its queue, the low 32 bits
    std::uint32_t value   = 0;
    std::uint32_t key     = 0; // remote key, of writes and reads
    std::uint32_t length  = 0; // bytes of the whole, of all pieces
    std::uint32_t offset  = 0; // of this piece in it
    std::uint64_t address = 0; // of the whole, of writes and reads

    bool operator==(const TcpFrame &) const = default;
};

inline constexpr std::size_t tcp_header_size = 32;
using TcpHeader                              = std::array<std::uint8_t, tcp_header_size>;

TcpHeader encode(const TcpFrame &frame) noexcept;

// Fills `frame` and returns "", or a sentence fragment with what is wrong, and leaves it alone.
std::string_view decode(std::uint8_t kind, std::span<const std::uint8_t> header,
                        std::size_t payload, TcpFrame &frame) noexcept;

} // namespace be::engine
