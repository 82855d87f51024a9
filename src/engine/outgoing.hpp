// SPDX-License-Identifier: BSD-3-Clause
//
// What is sent, as work requests: built when it is first posted, and again for a replay.

#pragma once

#include "core/wire.hpp"
#include "engine/c_api.h"
#include "engine/send_queue.hpp"
#include "memory/pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace be::engine {

// A staging buffer: data header, payload of a message or header of one from the user's memory; then, at its end for the
// latter, where the rest of it lies.
inline constexpr std::size_t kept_parts_at = core::data_header_size + BE_AM_MAX_HEADER;
static_assert(kept_parts_at % alignof(ibv_sge) == 0);

constexpr std::size_t staging_size(std::size_t segment_size)
{
    return std::max(core::data_header_size + segment_size,
                    kept_parts_at + BE_MAX_SGE * sizeof(ibv_sge));
}

struct MessageHeader {
    core::HeaderKind kind = core::HeaderKind::am;
    std::uint8_t am_id    = 0;
    std::uint8_t flags    = 0;
    std::uint16_t iface   = 0; // that it is for, or is about
    void *header          = nullptr; // where its 16 bytes go
};

class Link;

MessageHeader message_to(const Link &link, std::uint8_t am_id, void *header) noexcept;

// Eight bytes for a peer, little-endian.
struct Word {
    alignas(8) std::uint64_t value = 0;
    memory::Buffer staging; // unless it goes inline
};

// A put that goes at once, in front of its data in a record.
struct DirectPut {
    std::uint64_t remote;
    std::uint32_t rkey;
    std::uint32_t number; // of this write
};

// What a message consists of beyond its staging buffer: at the end of that.
inline ibv_sge *kept_parts(void *buffer) noexcept
{
    return reinterpret_cast<ibv_sge *>(static_cast<std::byte *>(buffer) + kept_parts_at);
}

// Of a message: the entries that are used.
std::span<ibv_sge> message_parts(const SendQueue &queue, const Slot &slot,
                                 std::span<ibv_sge, BE_MAX_SGE + 1> sges) noexcept;

// Each refers to the entries that it is given. Puts lack the opcode: Fabric::announce_write() knows it.
ibv_send_wr direct_put(std::byte *record, std::size_t length, ibv_sge &sge) noexcept;
ibv_send_wr bulk_piece(const Slot &slot, std::span<ibv_sge, BE_MAX_SGE> sges) noexcept;
ibv_send_wr
write_word(Word &word, std::uint64_t remote, std::uint32_t rkey, ibv_sge &sge) noexcept;

} // namespace be::engine
