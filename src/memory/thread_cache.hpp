// SPDX-License-Identifier: BSD-3-Clause
//
// The blocks that one thread keeps at hand of one heap, and its share of the counters.
//
// A bin per size class, last freed first reused. Bins hold pointers outside of the blocks,
// and get room when their class is used. The room of all bins together is bounded in
// bytes, so the common case has nothing to add up: a bin that needs more takes it from
// others (Heap::spill()).
// Threads: the cache's own; counters and bytes() are read by any.
#pragma once

#include "memory/heap_counters.hpp"
#include "memory/size_class.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace be::memory {

class ThreadCache {
public:
    // `limit`: bytes in all bins together, at most.
    explicit ThreadCache(size_t limit) : m_limit(limit)
    {
    }

    // Blocks that a bin of that class may get room for.
    static uint32_t most(unsigned class_index) noexcept;

    // Null: the bin is empty.
    void *take(unsigned class_index) noexcept
    {
        Bin &bin             = m_bins[class_index];
        const uint32_t count = bin.count.load(std::memory_order_relaxed);
        if (count == 0) {
            return nullptr;
        }
        bin.count.store(count - 1, std::memory_order_relaxed);
        return bin.blocks[count - 1];
    }

    // False: no room.
    bool put(unsigned class_index, void *block) noexcept
    {
        Bin &bin             = m_bins[class_index];
        const uint32_t count = bin.count.load(std::memory_order_relaxed);
        if (count == bin.room) {
            return false;
        }
        bin.blocks[count] = block;
        bin.count.store(count + 1, std::memory_order_relaxed);
        return true;
    }

    // Gives the bin more room; false: it has the most, or the cache has no more, or there
    // is no memory.
    bool widen(unsigned class_index) noexcept;

    // The class of a bin that could give its room to another one, each time another; none:
    // class_count. Its blocks have to be drained, then narrow() takes its room.
    unsigned victim(unsigned class_index) noexcept;
    void narrow(unsigned class_index) noexcept;

    // Takes up to `count` blocks, those that lie there longest, out of the bin; the caller
    // gives them back. They are at `blocks` until the bin is used again.
    uint32_t drain(unsigned class_index, uint32_t count, void *const **blocks) noexcept;

    uint32_t count(unsigned class_index) const noexcept
    {
        return m_bins[class_index].count.load(std::memory_order_relaxed);
    }

    uint32_t room(unsigned class_index) const noexcept
    {
        return m_bins[class_index].room;
    }

    size_t bytes() const noexcept;

    HeapCounters counters;

private:
    struct Bin {
        std::unique_ptr<void *[]> blocks;
        std::atomic<uint32_t> count{0};
        uint32_t room = 0;
    };

    std::array<Bin, class_count> m_bins;
    size_t m_room = 0; // bytes that all bins have room for
    size_t m_limit; // of it
    unsigned m_hand = 0; // where the last victim was
};

} // namespace be::memory
