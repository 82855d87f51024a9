// SPDX-License-Identifier: BSD-3-Clause

#include "control/block_cache.hpp"

#include <cstdlib>
#include <new>

namespace be::control {
namespace {

constexpr bool is_kept(std::size_t size) noexcept
{
    return size >= BlockCache::least && size <= BlockCache::block_size;
}

} // namespace

BlockCache &BlockCache::instance() noexcept
{
    // Never destroyed: threads that end late give back.
    alignas(BlockCache) static std::byte place[sizeof(BlockCache)];
    static BlockCache *const cache = new (place) BlockCache;
    return *cache;
}

BlockCache::~BlockCache()
{
    while (m_count != 0) {
        std::free(m_free[--m_count]);
    }
}

void *BlockCache::take(std::size_t size) noexcept
{
    if (is_kept(size)) {
        size = block_size;
        const std::lock_guard lock(m_mutex);
        if (m_count != 0) {
            return m_free[--m_count];
        }
    }
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void BlockCache::give(void *block, std::size_t size) noexcept
{
    if (is_kept(size)) {
        const std::lock_guard lock(m_mutex);
        if (m_count != most_kept) {
            m_free[m_count++] = block;
            return;
        }
    }
    std::free(block);
}

Block take_block(std::size_t size)
{
    void *block = BlockCache::instance().take(size);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return {static_cast<std::byte *>(block), GiveBlock{size}};
}

} // namespace be::control
