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

    // Maps and registers; throws what those throw. `dedicated`: made for one block, and
    // goes with it.
    ArenaRegion(size_t length, const RegionOptions &options, const Registrar &registrar,
                uint32_t number, bool dedicated);
    ~ArenaRegion();
    ArenaRegion(const ArenaRegion &)            = delete;
    ArenaRegion &operator=(const ArenaRegion &) = delete;

    // Null: no room. `align`: bytes, a power of two.
    char *allocate_run(size_t length, size_t align, size_t requested);
    // What the run that begins at `address` was; none: no such run is out, and nothing
    // was changed.
    std::optional<Run> free_run(const void *address);

    // Null: no room.
    Slab *make_slab(unsigned class_index);
    void drop_slab(Slab &slab); // empty, and not used afterwards
    // The slab `address` lies in; null: none.
    Slab *slab_at(const void *address) const;

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
};

} // namespace be::memory
