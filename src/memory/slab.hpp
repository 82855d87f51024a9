// SPDX-License-Identifier: BSD-3-Clause
//
// A run of pages cut into blocks of one size class, last freed first reused. The list of
// free blocks and the sizes asked for are kept outside the blocks.
//
// Threads: the owner's lock.
#pragma once

#include "memory/size_class.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace be::memory {

class ArenaRegion;

class Slab {
public:
    // Pages a slab of that class takes: eight blocks at least, and little left over.
    static uint32_t pages_of(unsigned class_index);

    Slab(ArenaRegion &region, uint32_t first_page, unsigned class_index);

    // Null: full. `requested` > 0: bytes asked for.
    void *take(size_t requested);

    // The bytes that were asked for; 0: no block that is out begins at `address`, and
    // nothing was changed.
    size_t give_back(const void *address);

    bool full() const
    {
        return m_free.empty();
    }

    bool empty() const
    {
        return m_free.size() == m_requested.size();
    }

    ArenaRegion &region() const
    {
        return m_region;
    }

    uint32_t first_page() const
    {
        return m_first_page;
    }

    unsigned class_index() const
    {
        return m_class;
    }

private:
    friend class SlabList;

    static constexpr size_t not_listed = SIZE_MAX;

    ArenaRegion &m_region;
    uint32_t m_first_page;
    unsigned m_class;
    size_t m_block_size;
    char *m_base;
    std::vector<uint16_t> m_free; // indices, the last is taken first
    std::vector<uint32_t> m_requested; // by index; 0: free
    size_t m_position = not_listed; // in the list of slabs with room
};

// Slabs of one class that have room, in no order. O(1) each.
class SlabList {
public:
    void add(Slab &slab);
    void remove(Slab &slab);
    bool contains(const Slab &slab) const;

    Slab *any() const
    {
        return m_slabs.empty() ? nullptr : m_slabs.back();
    }

    size_t size() const
    {
        return m_slabs.size();
    }

    // Those without a block out.
    std::vector<Slab *> empty_ones() const;

private:
    std::vector<Slab *> m_slabs;
};

} // namespace be::memory
