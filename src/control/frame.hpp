// SPDX-License-Identifier: BSD-3-Clause
//
// Cuts a byte stream into frames: a little-endian 32-bit length, then that many
// bytes. Holds at most one incomplete frame, of at most the current limit.

#pragma once

#include "control/block_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace be::control {

constexpr std::size_t frame_header_size = 4;

// Longest frame of a client that has not authenticated itself, of others, and of
// those that have agreed on feature_tcp_path.
constexpr std::size_t max_frame_before_auth = 1024;
constexpr std::size_t max_frame             = 64 * 1024;
constexpr std::size_t max_frame_with_data   = 128 * 1024;

// No FlatBuffer with a file identifier is shorter.
constexpr std::size_t min_frame = 8;

class FrameReader {
public:
    enum class Status {
        incomplete, // all input consumed, the frame goes on
        complete, // frame() holds one
        bad_length, // announced_length() is outside min_frame..limit
    };

    // Takes bytes from the front of `input` up to the end of the first frame, and
    // shortens `input` by them. After bad_length the stream has no meaning any
    // more.
    Status read(std::span<const std::uint8_t> &input);

    // The frame without its length, aligned for FlatBuffers. Valid until the next
    // read().
    std::span<const std::uint8_t> frame() const noexcept
    {
        return {bytes(), m_length};
    }

    // Where frame() is. Who takes it keeps the frame.
    Block &memory() noexcept
    {
        return m_body;
    }

    // Where the rest of the frame goes that read() has begun: who puts bytes there
    // itself saves a copy, and reports them with filled() and another read().
    // Empty between frames. Valid until the next read().
    std::span<std::uint8_t> space() const noexcept;

    void filled(std::size_t bytes) noexcept
    {
        m_filled += bytes;
    }

    std::uint32_t announced_length() const noexcept
    {
        return m_length;
    }

    // Applies from the next frame on.
    void set_limit(std::size_t limit) noexcept
    {
        m_limit = limit;
    }

    std::size_t limit() const noexcept
    {
        return m_limit;
    }

private:
    void make_room();
    std::uint8_t *bytes() const noexcept
    {
        return reinterpret_cast<std::uint8_t *>(m_body.get());
    }

    std::size_t m_limit        = max_frame_before_auth;
    std::size_t m_header_bytes = 0; // of the length, received so far
    std::uint32_t m_length     = 0;
    Block m_body; // only ever grows
    std::size_t m_capacity = 0;
    std::size_t m_filled   = 0; // of m_length
    bool m_handed_out      = false;
};

} // namespace be::control
