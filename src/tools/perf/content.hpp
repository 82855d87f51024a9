// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace be::tools {

/** What the bytes of a value are: each word follows from its number and its place. */
inline uint64_t word_of(uint64_t number, size_t index) noexcept
{
    return (number + 1) * 0x9E3779B97F4A7C15u + index * 0xD1342543DE82EF95u;
}

inline void fill(std::span<std::byte> bytes, uint64_t number) noexcept
{
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
        const uint64_t word = word_of(number, at);
        std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
    }
}

/** @param thorough  All of it, not only its ends. */
inline bool
intact(std::span<const std::byte> bytes, uint64_t number, bool thorough) noexcept
{
    const auto word_is_right = [&](size_t at) {
        const uint64_t word = word_of(number, at);
        return std::memcmp(bytes.data() + at, &word,
                           std::min(sizeof(word), bytes.size() - at)) == 0;
    };
    if (bytes.empty()) {
        return true;
    }
    if (!thorough) {
        return word_is_right(0) &&
               word_is_right((bytes.size() - 1) / sizeof(uint64_t) * sizeof(uint64_t));
    }
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
        if (!word_is_right(at)) {
            return false;
        }
    }
    return true;
}

} // namespace be::tools
