// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers of one size, from an arena, behind a last-in first-out free list (the buffer
// freed last is the one still in the cache).
//
// Growth: PoolConfig::step buffers at a time, up to PoolConfig::cap. get() grows when the
// list is empty: what must not wait calls reserve() beforehand. When the arena refuses,
// get() returns an empty buffer and asks the arena again only after 1, 2, 4 ... 65536
// further calls, so that a full system is not hammered.
//
// Cost: get() and put() are a few instructions; find() is one hash probe. No lock, no
// allocation, no system call except in growth.
// Ownership: the pool gives its blocks back to the arena when it goes, also under buffers
// that are still out.
// Threads: one thread at a time.
#pragma once

#include "memory/arena.hpp"
#include "memory/pool_index.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace be::memory {

struct PoolConfig {
    size_t buffer_size  = 0; // bytes
    size_t alignment    = 64; // power of two: buffer + align_offset is a multiple of it
    size_t align_offset = 0; // bytes
    uint32_t step       = 64; // buffers, at least, per growth
    uint32_t cap        = UINT32_MAX; // buffers, at most
};

struct Buffer {
    void *address  = nullptr;
    uint32_t lkey  = 0;
    uint32_t index = 0; // dense, below BufferPool::size(); never changes

    explicit operator bool() const noexcept
    {
        return address != nullptr;
    }
};

struct PoolStats {
    uint32_t size        = 0; // buffers there are
    uint32_t in_use      = 0;
    uint32_t in_use_peak = 0;
    uint64_t growths     = 0;
    uint64_t empty       = 0; // get() returned nothing
    uint64_t failures    = 0; // the arena refused
};

class BufferPool {
public:
    // Throws std::invalid_argument that names the field. The arena outlives the pool.
    BufferPool(Arena &arena, const PoolConfig &config);
    ~BufferPool();
    BufferPool(const BufferPool &)            = delete;
    BufferPool &operator=(const BufferPool &) = delete;

    // Empty at the cap or when the arena refused (last_error()).
    Buffer get()
    {
        if (m_free.empty() && !grow_for_get()) {
            return {};
        }

        const Buffer buffer = m_free.back();
        m_free.pop_back();
        if (m_free.size() < m_least_free) {
            m_least_free = m_free.size();
        }
        check_taken(buffer);
        return buffer;
    }

    void put(const Buffer &buffer) noexcept
    {
        check_returned(buffer);
        m_free.push_back(buffer); // never allocates: the capacity is size()
    }

    // By address, as get() gave it. False: not a buffer of this pool; nothing was
    // changed.
    bool put(void *address) noexcept
    {
        const Buffer buffer = find(address);
        if (!buffer) {
            return false;
        }
        put(buffer);
        return true;
    }

    // The buffer that contains `address` (any byte of it); empty: none of this pool.
    Buffer find(const void *address) const noexcept
    {
        const uint32_t number = m_index.find(address);
        return (number == PoolIndex::none) ? Buffer{} : buffer_in(number, address);
    }

    uint32_t lkey_of(const void *address) const noexcept
    {
        return find(address).lkey;
    }

    // From now on get() only takes what the arena has mapped, and has it map more
    // elsewhere: it returns nothing meanwhile.
    void grow_elsewhere() noexcept
    {
        m_growth = Growth::elsewhere;
    }

    // `index` < size().
    Buffer at(uint32_t index) const noexcept;

    // Grows until size() >= count; false: cap or arena in the way (last_error()).
    bool reserve(uint32_t count);

    uint32_t size() const noexcept
    {
        return m_size;
    }

    uint32_t available() const noexcept
    {
        return static_cast<uint32_t>(m_free.size());
    }

    size_t buffer_size() const noexcept
    {
        return m_config.buffer_size;
    }

    PoolStats stats() const noexcept;

    const std::string &last_error() const noexcept
    {
        return m_last_error;
    }

private:
    struct Chunk {
        Block block;
        char *first      = nullptr; // address of its buffer 0
        uint32_t buffers = 0;
    };

    // The buffer of that chunk that contains `address`, if any does.
    Buffer buffer_in(uint32_t number, const void *address) const noexcept
    {
        const Chunk &chunk  = m_chunks[number];
        const size_t offset = static_cast<size_t>(static_cast<const char *>(address) -
                                                  chunk.first);
        // offset / m_stride, exact while both are below 2^32; an address before the first
        // buffer gives a huge offset, which the comparison sorts out.
        const auto i = static_cast<size_t>(
                (static_cast<unsigned __int128>(offset) * m_reciprocal) >> 64);
        if (i >= chunk.buffers) {
            return {};
        }
        return {chunk.first + i * m_stride, chunk.block.lkey,
                number * m_per_chunk + static_cast<uint32_t>(i)};
    }

    bool grow(Growth growth);
    bool grow_for_get();
    void add_chunk(const Block &block);

    // In debug builds a buffer that comes back twice, or that the list holds although it
    // is out, ends the process.
#ifdef BE_ENABLE_ASSERT
    void check_taken(const Buffer &buffer) noexcept;
    void check_returned(const Buffer &buffer) noexcept;
    std::vector<bool> m_out; // by index
#else
    void check_taken(const Buffer &) noexcept
    {
    }
    void check_returned(const Buffer &) noexcept
    {
    }
#endif

    Arena &m_arena;
    PoolConfig m_config;
    Growth m_growth = Growth::now; // of get()
    size_t m_stride; // bytes from one buffer to the next
    size_t m_lead; // bytes in front of a chunk's first buffer
    size_t m_slot; // bytes: alignment of chunks, which are multiples of it
    size_t m_chunk_length; // bytes
    uint32_t m_per_chunk; // buffers of a chunk; the cap may cut the last one short
    uint64_t m_reciprocal; // 2^64 / m_stride, rounded up
    PoolIndex m_index;
    std::vector<Buffer> m_free;
    std::vector<Chunk> m_chunks;
    uint32_t m_size        = 0;
    size_t m_least_free    = 0; // of m_free.size() since the last growth
    uint32_t m_peak        = 0; // in use, up to the last growth
    uint32_t m_retry_pause = 0; // calls of get() from one refused growth to the next try
    uint32_t m_retry_in    = 0; // calls left
    PoolStats m_stats;
    std::string m_last_error;
};

} // namespace be::memory
