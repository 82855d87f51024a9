// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks that one thread keeps at hand of one heap, and its share of the counters.
//
// A bin per size class, last freed first reused. Bins hold pointers outside of the blocks,
// and are allocated when a class is first used.
// Threads: the cache's own; the counters are read by any.
#pragma once

#include "memory/size_class.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace be::memory {

// One writer, any number of readers.
class Counter {
public:
    void add(uint64_t count) noexcept
    {
        m_value.store(m_value.load(std::memory_order_relaxed) + count,
                      std::memory_order_relaxed);
    }

    uint64_t get() const noexcept
    {
        return m_value.load(std::memory_order_relaxed);
    }

private:
    std::atomic<uint64_t> m_value{0};
};

// Counts of one thread; sums over all threads are exact when none is at work.
struct HeapCounters {
    static constexpr unsigned max_owners = 64;

    struct Class {
        Counter allocations;
        Counter frees;
        Counter requested; // bytes
    };
    struct Owner {
        Counter allocations;
        Counter frees;
        Counter allocated; // bytes, as rounded
        Counter freed; // bytes, as rounded
    };

    std::array<Class, class_count + 1> classes;
    std::array<Owner, max_owners> owners;

    void allocated(unsigned class_index, size_t requested, size_t length,
                   unsigned owner) noexcept
    {
        classes[class_index].allocations.add(1);
        classes[class_index].requested.add(requested);
        owners[owner].allocations.add(1);
        owners[owner].allocated.add(length);
    }

    void freed(unsigned class_index, size_t length, unsigned owner) noexcept
    {
        classes[class_index].frees.add(1);
        owners[owner].frees.add(1);
        owners[owner].freed.add(length);
    }

    void add(const HeapCounters &other) noexcept;
};

class ThreadCache {
public:
    struct Bin {
        std::unique_ptr<void *[]> blocks;
        uint32_t count    = 0;
        uint32_t capacity = 0;
    };

    // `limit`: bytes in all bins together, at most.
    explicit ThreadCache(size_t limit) : m_limit(limit)
    {
    }

    // Blocks that a bin of that class has room for.
    static uint32_t capacity_of(unsigned class_index) noexcept;

    // Null: the bin is empty.
    void *take(unsigned class_index) noexcept
    {
        Bin &bin = m_bins[class_index];
        if (bin.count == 0) {
            return nullptr;
        }
        m_bytes.store(bytes() - class_size(class_index), std::memory_order_relaxed);
        return bin.blocks[--bin.count];
    }

    // False: no room.
    bool put(unsigned class_index, void *block) noexcept
    {
        Bin &bin           = m_bins[class_index];
        const size_t total = bytes() + class_size(class_index);
        if ((bin.count == bin.capacity) || (total > m_limit)) {
            return false;
        }
        m_bytes.store(total, std::memory_order_relaxed);
        bin.blocks[bin.count++] = block;
        return true;
    }

    // Makes the bin of a class that was not used before; false: no memory for it.
    bool prepare(unsigned class_index) noexcept;

    // Takes up to `count` blocks, those that lie there longest, out of the bin; the caller
    // gives them back. They are at `blocks` until the bin is used again.
    uint32_t drain(unsigned class_index, uint32_t count, void *const **blocks) noexcept;

    uint32_t count(unsigned class_index) const noexcept
    {
        return m_bins[class_index].count;
    }

    size_t bytes() const noexcept
    {
        return m_bytes.load(std::memory_order_relaxed);
    }

    HeapCounters counters;

private:
    std::array<Bin, class_count> m_bins;
    std::atomic<size_t> m_bytes{0};
    size_t m_limit; // bytes
};

} // namespace be::memory
