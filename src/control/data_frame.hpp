// SPDX-License-Identifier: BSD-3-Clause
//
// A Data frame around a payload that stays where it is, so that it can be sent from there.

#pragma once

#include "control/chunk.hpp"
#include "control/types.hpp"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace be::control {

class DataFrame {
public:
    // The view is in range, see validate(); its payload must outlive this. Allocates nothing.
    explicit DataFrame(const DataView &data);

    // Bytes, length included.
    std::size_t size() const noexcept
    {
        return m_head_size + m_payload.size();
    }

    // In their order.
    std::array<iovec, 2> parts() const noexcept;

    // Its bytes from `offset` on; at least one. Throws std::bad_alloc.
    Chunk copy(std::size_t offset = 0) const;

private:
    // More than tables, lengths and padding take.
    static constexpr std::size_t most_head = max_data_header + 128;

    alignas(8) std::array<std::uint8_t, most_head> m_head;
    std::size_t m_head_size = 0;
    std::span<const std::uint8_t> m_payload;
};

} // namespace be::control
