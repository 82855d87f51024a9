// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory, cut into blocks of any size.
//
// An arena is a growing set of regions, each registered with the device once, when it is
// mapped. Blocks up to max_slab_class bytes come from slabs of one size class
// (size_class.hpp), larger ones are runs of pages (page_map.hpp). All bookkeeping is
// outside the blocks, so a peer or a device that writes where it should not cannot
// corrupt it.
//
// Growth: regions double from ArenaConfig::first to ArenaConfig::step, or are what one
// large block needs, up to ArenaConfig::cap; close to a limit of the system they get
// smaller again. A region made for one block larger than the step goes back to the system
// with that block; the others stay until trim(), so that the steady state registers
// nothing. No lock is held while a region is mapped and registered. With
// ArenaConfig::ahead a thread of the process (grower.hpp) does that before the memory is
// needed.
//
// Ownership: blocks still out when the arena goes are gone with it. The callbacks outlive
// the arena.
// Threads: every function may be called from any thread (one mutex, but find() has none;
// fast paths are BufferPool's and Heap's).
// Errors: allocate() returns an empty block and says why; nothing throws after
// construction but std::bad_alloc.
#pragma once

#include "memory/region.hpp"
#include "memory/registration.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace be::memory {

struct ArenaConfig {
    // Bytes of the first region: two huge pages. Small enough for an 8 MiB
    // RLIMIT_MEMLOCK.
    size_t first         = size_t{4} << 20;
    size_t step          = size_t{64} << 20; // bytes of a region, at most
    size_t cap           = SIZE_MAX; // bytes mapped, at most
    bool ahead           = false; // map before the last quarter of a region is used
    RegionOptions region = {};
    // Hears once what the first region that got less than was wished for said. From any
    // thread, without a lock of the arena.
    std::function<void(const std::string &note)> notice = {};
};

struct Block {
    void *address   = nullptr;
    size_t length   = 0; // usable bytes, at least what was asked for
    uint32_t lkey   = 0;
    uint32_t rkey   = 0;
    uint32_t region = 0; // the arena's own number of the region

    explicit operator bool() const noexcept
    {
        return address != nullptr;
    }
};

enum class Growth {
    now, // map a region if there is no room
    elsewhere // only ask the grower for one: the caller must not wait
};

struct ArenaStats {
    size_t mapped          = 0; // bytes, registered
    size_t mapped_peak     = 0; // bytes
    size_t used            = 0; // bytes in blocks that are out, as rounded
    size_t requested       = 0; // bytes in blocks that are out, as asked for
    size_t slab_bytes      = 0; // bytes held by slabs, in use or not
    uint64_t regions       = 0; // mapped now
    uint64_t registrations = 0; // since the start
    uint64_t allocations   = 0;
    uint64_t frees         = 0;
    uint64_t failures      = 0; // allocate() returned nothing
    uint64_t bad_frees     = 0; // free() of what was not out
    uint64_t ahead         = 0; // regions mapped before they were needed
};

class Arena {
public:
    static constexpr size_t default_alignment = 64; // bytes: a cache line

    Arena(const ArenaConfig &config, Registrar registrar);
    ~Arena();
    Arena(const Arena &)            = delete;
    Arena &operator=(const Arena &) = delete;

    // `align`: a power of two, at most region_unit. Empty: cap reached, or mapping or
    // registration failed; then *why (if not null) tells what was asked for and what was
    // in the way.
    Block allocate(size_t size, size_t align = default_alignment,
                   std::string *why = nullptr, Growth growth = Growth::now);

    // False: no such block is out (freed twice, or not of this arena); nothing was
    // changed.
    bool free(const Block &block) noexcept
    {
        return release(block.address) != 0;
    }
    // The same by address; returns the block's length, 0 for false.
    size_t release(void *address) noexcept;

    // Blocks of one size class, for a cache of them: fills `blocks`, returns how many; 0:
    // none, *why tells. Up to max_slab_class they are aligned to the largest power of two
    // that divides their size, larger ones to a page.
    size_t take(unsigned class_index, void **blocks, size_t count, std::string *why);
    // What take() or allocate() gave. Those that are not out are left alone, and counted.
    void give(void *const *blocks, size_t count) noexcept;

    // The class that take() was asked for, or that allocate() chose for a small block;
    // none: another block, or no block of this arena. `address`: of a block that is out.
    // No lock.
    std::optional<unsigned> class_at(const void *address) const noexcept;

    // The registration of the region `address` lies in; false: not of this arena. O(1), no
    // lock.
    bool find(const void *address, Registration *registration) const noexcept;

    // Maps until `bytes` are free; false: not possible, *why tells.
    bool reserve(size_t bytes, std::string *why = nullptr);

    // Unmaps regions without blocks as long as `keep` bytes stay mapped.
    void trim(size_t keep) noexcept;

    ArenaStats stats() const;

    // What the first region that got less than was wished for said; empty: all is as
    // wished.
    std::string note() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace be::memory
