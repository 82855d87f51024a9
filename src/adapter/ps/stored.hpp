// SPDX-License-Identifier: BSD-3-Clause
//
// A value of the table, in memory that the network knows, behind what a pull of it alone is
// answered with: such a pull copies nothing. Copies refer to the same bytes.
#pragma once

#include "adapter/block_pool.hpp"
#include "adapter/ps/messages.hpp"

#include <atomic>
#include <memory>
#include <span>

namespace be::ps {

class Stored {
public:
    Stored() = default; // nothing: no such value

    // Its bytes are undefined. Throws std::bad_alloc.
    Stored(std::size_t size, std::uint64_t version) :
        m_block(adapter::pooled(sizeof(Front) + size)), m_size(size)
    {
        const Front front{1, {version, size}};
        std::memcpy(m_block.get(), &front, sizeof(front));
    }

    Stored(std::span<const std::byte> bytes, std::uint64_t version) :
        Stored(bytes.size(), version)
    {
        if (!bytes.empty()) {
            std::memcpy(data(), bytes.data(), bytes.size());
        }
    }

    explicit operator bool() const noexcept
    {
        return m_block != nullptr;
    }

    std::uint64_t version() const noexcept
    {
        std::uint64_t version = 0;
        if (m_block != nullptr) {
            std::memcpy(&version, m_block.get() + version_at, sizeof(version));
        }
        return version;
    }

    std::size_t size() const noexcept
    {
        return m_size;
    }

    std::span<const std::byte> bytes() const noexcept
    {
        return {m_block.get() + sizeof(Front), m_size};
    }

    // The answer to a pull of this value.
    std::span<const std::byte> answer() const noexcept
    {
        return {m_block.get(), sizeof(Front) + m_size};
    }

    const std::shared_ptr<std::byte[]> &owner() const noexcept
    {
        return m_block;
    }

    // Nobody else refers to it, nor reads it any more: it may be changed.
    bool unique() const noexcept
    {
        const bool alone = m_block.use_count() == 1;
        std::atomic_thread_fence(std::memory_order_acquire);
        return alone;
    }

    std::byte *data() noexcept
    {
        return m_block.get() + sizeof(Front);
    }

    void set_version(std::uint64_t version) noexcept
    {
        std::memcpy(m_block.get() + version_at, &version, sizeof(version));
    }

private:
    struct Front {
        std::uint64_t count;
        Entry entry;
    };
    static constexpr std::size_t version_at = offsetof(Front, entry);

    std::shared_ptr<std::byte[]> m_block;
    std::size_t m_size = 0;
};

} // namespace be::ps
