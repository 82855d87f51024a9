// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to frames and back.

#pragma once

#include "control/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace be::control {

// Why a frame is none: one sentence.
struct DecodeError {
    std::string text;
};

// Texts of Refuse messages are cut to this many characters when they are
// sent and when they arrive; what is not printable ASCII arrives as '?'.
constexpr std::size_t max_text = 200;

// Appends the message to `out` as one frame, length included. For Data see DataFrame.
void encode(const Message &message, std::vector<std::uint8_t> &out);

// Reads one frame, without its length. Every byte is distrusted: the buffer is
// verified before it is read, and the values are checked against their ranges.
// `frame` must be aligned to 8 bytes; a Data message refers to its bytes.
std::variant<Message, DecodeError> decode(std::span<const std::uint8_t> frame);

} // namespace be::control
