// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of work requests that were handed to the device inline, kept until they are known to have arrived: what a
// replay after a failure sends again. First in, first out; each record lies in one piece.
//
// Places are totals of bytes, modulo 2^32. A record never crosses a multiple of the ring's size, so it does not cross
// one of a larger ring either and keeps its place when the ring grows.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace be::engine {

class ReplayRing {
public:
    // Room for `size` bytes behind all others; null: no memory. The pointer is valid until the next call.
    std::byte *add(std::uint32_t size, std::uint32_t *place) noexcept
    {
        const std::uint32_t length = rounded(size);
        for (;;) {
            std::uint32_t start = m_end;
            if (const std::uint32_t left = m_size - (start & (m_size - 1));
                m_size != 0 && left < length) {
                start += left; // not across the end
            }
            if (m_size != 0 && start + length - m_begin <= m_size) {
                m_end  = start + length;
                *place = start;
                return at(start);
            }
            if (!grow()) {
                return nullptr;
            }
        }
    }

    std::byte *at(std::uint32_t place) const noexcept
    {
        return m_bytes.get() + (place & (m_size - 1));
    }

    // That record and all before it are not needed any more.
    void drop(std::uint32_t place, std::uint32_t size) noexcept
    {
        m_begin = place + rounded(size);
    }

private:
    static constexpr std::uint32_t first_size = 256;
    static constexpr std::uint32_t most       = 1u << 30;

    static std::uint32_t rounded(std::uint32_t size) noexcept
    {
        return (size + 15) & ~15u;
    }

    bool grow() noexcept
    {
        const std::uint32_t size = m_size != 0 ? 2 * m_size : first_size;
        std::unique_ptr<std::byte[]> bytes(
                size <= most ? new (std::nothrow) std::byte[size] : nullptr);
        if (bytes == nullptr) {
            return false;
        }
        for (std::uint32_t place = m_begin; place != m_end;) {
            const std::uint32_t piece = std::min(m_end - place,
                                                 m_size - (place & (m_size - 1)));
            std::memcpy(bytes.get() + (place & (size - 1)), at(place), piece);
            place += piece;
        }
        m_bytes = std::move(bytes);
        m_size  = size;
        return true;
    }

    std::unique_ptr<std::byte[]> m_bytes;
    std::uint32_t m_size  = 0; // a power of two, or 0
    std::uint32_t m_begin = 0;
    std::uint32_t m_end   = 0;
};

} // namespace be::engine
