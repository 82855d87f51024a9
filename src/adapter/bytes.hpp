// SPDX-License-Identifier: BSD-3-Clause
//
// Little-endian numbers in messages, at any alignment.
#pragma once

#include <cstddef>

namespace be::adapter {

template<class T>
void put(std::byte *to, T value) noexcept
{
    for (std::size_t i = 0; i < sizeof(T); i++) {
        to[i] = static_cast<std::byte>(value >> (8 * i));
    }
}

template<class T>
T get(const std::byte *from) noexcept
{
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); i++) {
        value = static_cast<T>(value | static_cast<T>(from[i]) << (8 * i));
    }
    return value;
}

} // namespace be::adapter
