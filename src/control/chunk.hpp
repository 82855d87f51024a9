// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes on their way out, and what keeps them alive. Copies share the bytes, which
// nobody changes any more.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace be::control {

struct Chunk {
    std::shared_ptr<const void> owner{};
    std::span<const std::uint8_t> bytes{};
    bool is_data = false; // one Data frame, whose bytes DataFlow accounts for

    // Takes a vector over.
    static Chunk of(std::vector<std::uint8_t> content)
    {
        auto owner = std::make_shared<const std::vector<std::uint8_t>>(
                std::move(content));
        return {owner, *owner, false};
    }

    std::size_t size() const noexcept
    {
        return bytes.size();
    }

    bool empty() const noexcept
    {
        return bytes.empty();
    }
};

} // namespace be::control
