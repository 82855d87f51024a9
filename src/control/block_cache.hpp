// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for frames of data, used again. They come and go by the thousand, allocated in one thread and freed in another,
// and an allocator gives such memory back to the system each time: three quarters of the time that data over TCP took
// was page faults and their like.

#pragma once

#include "control/types.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

namespace be::control {

// Of the process. Any thread. Keeps 2 MiB at most.
class BlockCache {
public:
    static constexpr std::size_t alignment  = 64;
    static constexpr std::size_t block_size = max_data_payload + 1024; // a frame
    static constexpr std::size_t least      = 4096; // smaller ones are not worth it
    static constexpr std::size_t most_kept  = 32;

    static BlockCache &instance() noexcept;

    BlockCache()                              = default;
    BlockCache(const BlockCache &)            = delete;
    BlockCache &operator=(const BlockCache &) = delete;
    ~BlockCache();

    // Aligned to `alignment`; null when there is no memory.
    void *take(std::size_t size) noexcept;
    // `size` as it was asked for.
    void give(void *block, std::size_t size) noexcept;

private:
    std::mutex m_mutex;
    std::array<void *, most_kept> m_free{};
    std::size_t m_count = 0;
};

struct GiveBlock {
    std::size_t size = 0;

    void operator()(void *block) const noexcept
    {
        BlockCache::instance().give(block, size);
    }
};

using Block = std::unique_ptr<std::byte, GiveBlock>;

// Throws std::bad_alloc.
Block take_block(std::size_t size);

} // namespace be::control
