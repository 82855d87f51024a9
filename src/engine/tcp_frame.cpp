// SPDX-License-Identifier: BSD-3-Clause

#include "engine/tcp_frame.hpp"

#include <endian.h>

#include <cstring>

namespace be::engine {
namespace {

enum Flag : std::uint8_t {
    flag_last    = 1 << 0,
    flag_bulk    = 1 << 1,
    flag_notice  = 1 << 2,
    flag_counted = 1 << 3,
    known_flags  = flag_last | flag_bulk | flag_notice | flag_counted
};

void put(TcpHeader &out, std::size_t at, std::uint32_t value) noexcept
{
    value = htole32(value);
    std::memcpy(out.data() + at, &value, sizeof(value));
}

std::uint32_t get(std::span<const std::uint8_t> in, std::size_t at) noexcept
{
    std::uint32_t value;
    std::memcpy(&value, in.data() + at, sizeof(value));
    return le32toh(value);
}

bool in_pieces(TcpFrame::Kind kind) noexcept
{
    return kind == TcpFrame::Kind::message || kind == TcpFrame::Kind::write ||
           kind == TcpFrame::Kind::reply;
}

} // namespace

TcpHeader encode(const TcpFrame &frame) noexcept
{
    TcpHeader out{};
    out[0] = static_cast<std::uint8_t>(
            (frame.last ? flag_last : 0) | (frame.bulk ? flag_bulk : 0) |
            (frame.notice ? flag_notice : 0) | (frame.counted ? flag_counted : 0));
    put(out, 4, frame.number);
    put(out, 8, frame.value);
    put(out, 12, frame.key);
    put(out, 16, frame.length);
    put(out, 20, frame.offset);
    put(out, 24, static_cast<std::uint32_t>(frame.address));
    put(out, 28, static_cast<std::uint32_t>(frame.address >> 32));
    return out;
}

std::string_view decode(std::uint8_t kind, std::span<const std::uint8_t> header,
                        std::size_t payload, TcpFrame &frame) noexcept
{
    if (header.size() != tcp_header_size) {
        return "whose header is not 32 bytes";
    }
    if (kind < static_cast<std::uint8_t>(TcpFrame::Kind::message) ||
        kind > static_cast<std::uint8_t>(TcpFrame::Kind::refused)) {
        return "of a kind that this version does not know";
    }
    const std::uint8_t flags = header[0];
    if ((flags & ~known_flags) != 0 || header[1] != 0 || header[2] != 0 ||
        header[3] != 0) {
        return "with reserved bits";
    }
    TcpFrame read;
    read.kind    = static_cast<TcpFrame::Kind>(kind);
    read.last    = (flags & flag_last) != 0;
    read.bulk    = (flags & flag_bulk) != 0;
    read.notice  = (flags & flag_notice) != 0;
    read.counted = (flags & flag_counted) != 0;
    read.number  = get(header, 4);
    read.value   = get(header, 8);
    read.key     = get(header, 12);
    read.length  = get(header, 16);
    read.offset  = get(header, 20);
    read.address = get(header, 24) | std::uint64_t{get(header, 28)} << 32;

    if (!in_pieces(read.kind)) {
        if (payload != 0 || read.offset != 0 || read.last) {
            return "that has bytes and must have none";
        }
    } else if (read.offset > read.length || payload > read.length - read.offset) {
        return "that is longer than the whole of which it is a part";
    } else if (read.last != (payload == read.length - read.offset)) {
        return "that is the last of its whole and does not say so, or says so and is not";
    } else if (payload == 0 && !read.last) {
        return "that has no bytes";
    }
    if ((read.notice || read.counted) && (read.kind != TcpFrame::Kind::write ||
                                          !read.last || read.notice == read.counted)) {
        return "with a number that belongs to the end of a write";
    }
    frame = read;
    return {};
}

} // namespace be::engine
