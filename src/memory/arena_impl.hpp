// SPDX-License-Identifier: BSD-3-Clause
//
// What an arena consists of. Its functions are in arena_take.cpp (blocks), arena_grow.cpp
// (regions) and arena.cpp (what others call).
#pragma once

#include "memory/arena.hpp"
#include "memory/arena_region.hpp"
#include "memory/fork_mutex.hpp"
#include "memory/grower.hpp"
#include "memory/region_index.hpp"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <sys/types.h>

namespace be::memory {

struct Arena::Impl final : Grower::Job {
    using Lock    = std::unique_lock<ForkMutex>;
    using Regions = std::map<uintptr_t, std::unique_ptr<ArenaRegion>>; // by base address
    using Retired = Regions::node_type;

    ArenaConfig config;
    Registrar registrar;
    mutable ForkMutex mutex;
    RegionIndex index;
    Regions regions;
    std::array<SlabList, slab_class_count> with_room; // slabs, by class
    uint32_t next_number = 0;
    size_t next_step     = 0; // bytes of the next region, unless a block needs more
    ArenaStats stats;
    std::string note;

    std::condition_variable_any grown;
    pid_t growing     = 0; // the process a thread of which maps a region now; 0: none
    bool ahead_failed = false; // until memory comes back, or a region could be had
    bool noticed      = false;
    size_t wanted     = 0; // bytes that somebody did not wait for

    // All below: with the mutex held.

    // Blocks. Null, 0, none: no room in the regions there are.
    Block take(size_t size, size_t align);
    Block take_from(ArenaRegion &region, size_t length, size_t align, size_t requested);
    size_t take_class(unsigned class_index, void **blocks, size_t count);
    // The length; 0: not out. `retired`: a region that went with its block, to be unmapped
    // later.
    size_t give(const void *address, Retired &retired);
    Slab *slab_with_room(unsigned class_index);
    ArenaRegion *best_region(size_t length, size_t align) const; // null: none
    void drop_slab(Slab &slab);
    bool drop_empty_slabs();
    Block
    block(const ArenaRegion &region, void *address, size_t length, size_t requested);
    void count_free(size_t length, size_t requested);
    ArenaRegion *region_of(const void *address) const;

    // Regions.

    // Maps one with room for `length` bytes, whatever their alignment; gives the mutex up
    // meanwhile. True: look again, there may be room; *region, when not null, is one that
    // was made for such a block alone. False: the system, the device or the cap refused,
    // `why` tells.
    bool grow(Lock &lock, size_t length, std::string &why, ArenaRegion **region);
    std::unique_ptr<ArenaRegion> map_region(size_t need, size_t wish, bool dedicated,
                                            uint32_t number, std::string &why) const;
    void add(std::unique_ptr<ArenaRegion> region);
    Retired release(ArenaRegion &region);
    size_t free_bytes() const;
    bool wants_ahead() const;

    // The grower's.
    void run() noexcept override;

    // Without the mutex: asks for a region if one will be needed soon.
    void look_ahead(bool wanted)
    {
        if (wanted) {
            Grower::instance().request(*this);
        }
    }
};

} // namespace be::memory
