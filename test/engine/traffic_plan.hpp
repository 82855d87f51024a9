// SPDX-License-Identifier: BSD-3-Clause
//
// What the n-th message and the n-th put from one end to another are.

#pragma once

#include "engine/traffic.hpp"

#include <cstddef>
#include <cstdint>

namespace be::test {


// Of active messages.
enum : unsigned {
    id_short  = 1,
    id_packed = 2,
    id_memory = 3,
    id_fenced = 4
};

inline constexpr std::size_t header_size = 8; // of every message: sender and number

inline std::uint64_t mix(std::uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

inline std::uint64_t
key_of(std::uint64_t seed, unsigned from, unsigned to, bool put, std::uint64_t number)
{
    return mix(mix(seed * 8 + put) + mix(from * 64u + to + 1) + number);
}

struct Message {
    unsigned id;
    std::uint64_t content; // of the pattern
    std::size_t length; // without the header
};

inline Message
message_of(std::uint64_t seed, unsigned from, unsigned to, std::uint64_t number)
{
    const std::uint64_t key  = key_of(seed, from, to, false, number);
    const std::uint64_t size = key >> 32;
    switch (key % 8) {
    case 0:
    case 1:
    case 2:
        return {id_short, key, size % 93};
    case 3:
        return {id_packed, key, size % 600};
    case 4:
        return {id_packed, key, size % 7900};
    case 5:
    case 6:
        return {id_memory, key, 8 + size % 4000};
    default:
        return {id_fenced, key, sizeof(std::uint64_t)};
    }
}

struct Put {
    std::size_t kind; // 0 short, 1 packed, 2 from memory
    std::uint8_t value; // not 0, and not that of its slot's last put
    std::size_t length;
};

inline Put put_of(std::uint64_t seed, unsigned from, unsigned to, std::uint64_t number)
{
    const std::uint64_t key = key_of(seed, from, to, true, number);
    const auto value        = static_cast<std::uint8_t>(
            1 + (number / Field::slots + 31 * (number % Field::slots)) % 255);
    const std::size_t most[] = {100, 7900, Field::slot};
    return {key % 3, value, 1 + (key >> 32) % most[key % 3]};
}

// What an end lets others read.
inline std::uint64_t readable_content(std::uint64_t seed, unsigned owner)
{
    return mix(seed + 1000 + owner);
}

} // namespace be::test
