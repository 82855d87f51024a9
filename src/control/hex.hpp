// SPDX-License-Identifier: BSD-3-Clause
//
// Fabric ids and feature bits in messages: "0x1f".

#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace be::control {

inline std::string hex(std::uint64_t value)
{
    char digits[16];
    auto end = std::to_chars(digits, digits + sizeof(digits), value, 16).ptr;

    return "0x" + std::string(digits, end);
}

} // namespace be::control
