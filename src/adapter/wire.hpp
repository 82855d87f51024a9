// SPDX-License-Identifier: BSD-3-Clause
//
// The header of the adapter's messages, which are UCP active messages: a fixed part of
// 40 bytes, then a text (the name of a method, or why a call failed). The body of a
// request or response is the active message's data.
//
//   0  u16  magic 0xBE57            8  u64  connection, the receiver's number of it
//   2  u8   version                16  u64  id of the request
//   3  u8   kind                   24  u64  value (by kind, below)
//   4  u8   status                 32  u32  code (by kind, below)
//   5  u8   flags                  36  u16  length of the text
//   6  u16  0                      38  u16  0
//
//            value                          code
//   request  microseconds left, 0: no end   of a stream: parts that the client takes
//   response of a stream: parts sent before the handler's own
//   cancel   -                              -
//   goodbye  -                              -
//   part     its number, from 0             -
//   credit   parts taken altogether         -
//
// A request with flag_stream, and its id, is a stream until it is answered: both sides send
// parts, each part no further than the other side's credit. The last of a client's parts
// is followed by a part with flag_last, which has no body, needs no credit, and says how
// many there were; a server's response says that. Streams are used when both sides have
// shown feature_streams (exchange/message.hpp).
//
// The connection's number was drawn at random by the receiver and told to the other side
// in the exchange of addresses (exchange/message.hpp): who does not know it is not heard.
//
// All numbers are little-endian. Decoding checks everything, and reads nothing outside
// its span: the bytes come from another process.
#pragma once

#include <byteexpress/status.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace be::adapter::wire {

inline constexpr std::uint16_t magic     = 0xBE57;
inline constexpr std::uint8_t version    = 2;
inline constexpr std::size_t fixed_size  = 40;
inline constexpr std::size_t max_text    = 1000;
inline constexpr std::size_t max_name    = 255; // of a method
inline constexpr std::size_t max_size    = fixed_size + max_text;
inline constexpr unsigned active_message = 0xBE; // UCP's number for all our messages

enum class Kind : std::uint8_t {
    request  = 1,
    response = 2,
    cancel   = 3, // client: nobody waits for that request any more
    goodbye  = 4, // server: takes no further requests
    part     = 5, // of a stream; the body is the part
    credit   = 6, // of a stream
};

inline constexpr std::uint8_t flag_bulk   = 1; // of a request
inline constexpr std::uint8_t flag_stream = 2; // of a request
inline constexpr std::uint8_t flag_last   = 4; // of a part: there are no more

// Parts of a stream under way in one direction, at most.
inline constexpr std::uint32_t max_parts = 64;

struct Header {
    Kind kind                = Kind::request;
    Status status            = Status::ok;
    std::uint8_t flags       = 0;
    std::uint64_t connection = 0;
    std::uint64_t id         = 0;
    std::uint64_t value      = 0;
    std::uint32_t code       = 0;
    std::string_view text    = {}; // decoded: inside the span that was decoded
};

// Bytes that encode() writes. A text that is longer than max_text is cut.
inline std::size_t size_of(const Header &header) noexcept
{
    return fixed_size + std::min(header.text.size(), max_text);
}

// Returns size_of(header); `to` has room for as many.
std::size_t encode(const Header &header, std::span<std::byte> to) noexcept;

// Nothing when it is not a header: then *why (never null) says what is wrong.
std::optional<Header> decode(std::span<const std::byte> from, const char **why) noexcept;

} // namespace be::adapter::wire
