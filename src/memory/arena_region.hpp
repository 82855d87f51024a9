// SPDX-License-Identifier: BSD-3-Clause
//
// One registered region of an arena: its memory, its registration, and who has each of
// its pages.
//
// Threads: the arena's lock.
#pragma once

#include "memory/arena.hpp"
#include "memory/page_map.hpp"
#include "memory/slab.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace be::memory {

class ArenaRegion {
public:
    // A run of pages handed out as one block.
    struct Run {
        uint32_t pages   = 0;
        size_t requested = 0; // bytes
    };
    static constexpr uint8_t no_class = UINT8_MAX; // of a run of any size

    // Maps and registers; throws what those throw. `dedicated`: made for one block, and
    // goes with it.
    ArenaRegion(size_t length, const RegionOptions &options, const Registrar &registrar,
                uint32_t number, bool dedicated);
    ~ArenaRegion();
    ArenaRegion(const ArenaRegion &)            = delete;
    ArenaRegion &operator=(const ArenaRegion &) = delete;

    // Bytes of the hole that such a run would be cut from, 0: no room. The smaller the
    // better.
    size_t hole_for(size_t length, size_t align) const;

    // Null: no room. `align`: bytes, a power of two.
    char *allocate_run(size_t length, size_t align, size_t requested,
                       uint8_t class_index = no_class);
    // What the run that begins at `address` was; none: no such run is out, and nothing
    // was changed.
    std::optional<Run> free_run(const void *address);

    // Null: no room.
    Slab *make_slab(unsigned class_index);
    void drop_slab(Slab &slab); // empty, and not used afterwards
    // The slab `address` lies in; null: none.
    Slab *slab_at(const void *address) const;

    // Of the block that begins at, or for slabs lies at, `address`. Without the lock, as
    // long as that block is out.
    uint8_t class_at(const void *address) const
    {
        return m_class_of[page_of(address)].load(std::memory_order_relaxed);
    }

    size_t free_bytes() const
    {
        return size_t{m_pages.free_pages()} * page_size;
    }

    char *page_address(uint32_t page) const
    {
        return static_cast<char *>(m_memory.data()) + size_t{page} * page_size;
    }

    const Region &memory() const
    {
        return m_memory;
    }

    const Registration &registration() const
    {
        return m_registration;
    }

    uint32_t number() const
    {
        return m_number;
    }

    bool dedicated() const
    {
        return m_dedicated;
    }

    bool unused() const
    {
        return m_pages.all_free();
    }

private:
    uint32_t page_of(const void *address) const;

    const Registrar &m_registrar;
    Region m_memory;
    Registration m_registration;
    uint32_t m_number;
    bool m_dedicated;
    PageMap m_pages;
    std::unordered_map<uint32_t, Run> m_runs; // by first page
    std::unordered_map<uint32_t, std::unique_ptr<Slab>> m_slabs; // by first page
    std::vector<Slab *> m_slab_of; // by page; null: no slab's
    std::vector<std::atomic<uint8_t>> m_class_of; // by page
};

} // namespace be::memory
