// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/block_pool.hpp"

#include "adapter/pool_regions.hpp"
#include "memory/heap.hpp"

#include <atomic>
#include <cstdint>
#include <new>

namespace be::adapter {

namespace {

constexpr size_t smallest   = 4096; // below, the C library does it
constexpr size_t largest    = size_t{64} << 20; // above, it goes back to the system
constexpr size_t most_bytes = PTRDIFF_MAX; // of any array
constexpr size_t most_kept  = size_t{256} << 20; // bytes that may lie idle

memory::HeapConfig heap_config()
{
    memory::HeapConfig config;
    config.arena.step = largest; // so that no region goes with its block
    config.owner      = "bodies";
    return config;
}

class Pool {
public:
    // Null: no memory.
    std::byte *get(size_t size) noexcept
    {
        void *block = m_heap.allocate(size);
        if (block != nullptr) {
            m_live.fetch_add(size, std::memory_order_relaxed);
        }
        return static_cast<std::byte *>(block);
    }

    void put(std::byte *block, size_t size) noexcept
    {
        m_heap.free(block, size);
        const size_t live   = m_live.fetch_sub(size, std::memory_order_relaxed) - size;
        const size_t mapped = regions.bytes();
        if ((mapped > most_kept) && (live < mapped / 4) && !m_trimming.exchange(true)) {
            m_heap.trim(most_kept);
            m_trimming.store(false);
        }
    }

    size_t live() const noexcept
    {
        return m_live.load(std::memory_order_relaxed);
    }

    PoolRegions regions;

private:
    memory::Heap m_heap{heap_config(), regions.registrar()};
    std::atomic<size_t> m_live{0};
    std::atomic<bool> m_trimming{false};
};

// Never destroyed: bodies may live in static objects.
Pool &pool()
{
    static Pool *const the_pool = new Pool;
    return *the_pool;
}

} // namespace

std::shared_ptr<std::byte[]> unpooled(size_t size)
{
    if (size > most_bytes) { // the library's own arithmetic would overflow
        throw std::bad_alloc();
    }
    return std::make_shared_for_overwrite<std::byte[]>(size);
}

std::shared_ptr<std::byte[]> pooled(size_t size)
{
    std::byte *block = ((size >= smallest) && (size <= largest)) ? pool().get(size) :
                                                                   nullptr;
    if (block == nullptr) {
        return unpooled(size);
    }
    return {block, [size](std::byte *its) { pool().put(its, size); }};
}

PoolUser::PoolUser(ucp_context_h context) : m_context(context)
{
    pool().regions.attach(context);
}

PoolUser::~PoolUser()
{
    pool().regions.detach(m_context);
}

PoolStats pool_stats()
{
    PoolStats stats = pool().regions.stats();
    stats.live      = pool().live();
    return stats;
}

} // namespace be::adapter
