// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory, cut into blocks of any size.
//
// An arena is a growing set of regions, each registered with the device once, when it is
// mapped. Blocks up to max_class_size bytes come from slabs of one size class
// (size_class.hpp), larger ones are runs of pages (page_map.hpp). All bookkeeping is
// outside the blocks, so a peer or a device that writes where it should not cannot
// corrupt it.
//
// Growth: by ArenaConfig::step, or by what one large block needs, up to ArenaConfig::cap.
// A region made for one block larger than the step goes back to the system with that
// block; the others stay, so that the steady state registers nothing.
//
// Ownership: blocks still out when the arena goes are gone with it. The callbacks outlive
// the arena.
// Threads: every function may be called from any thread (one mutex; the fast path is
// BufferPool's).
// Errors: allocate() returns an empty block and says why; nothing throws after
// construction but std::bad_alloc.
#pragma once

#include "memory/region.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace be::memory {

// What the device knows a region by.
struct Registration {
    uint32_t lkey = 0;
    uint32_t rkey = 0;
    void *handle  = nullptr; // the registrar's own
};

struct Registrar {
    // Throws std::exception when it cannot: the text becomes the reason of the failed
    // allocation.
    std::function<Registration(void *address, size_t length)> add;
    std::function<void(const Registration &registration)> remove; // must not throw
};

struct ArenaConfig {
    // Growth in bytes: two huge pages. Small enough for an 8 MiB RLIMIT_MEMLOCK, large
    // enough that a receive queue of 4096 buffers of 8 KiB needs nine registrations.
    size_t step          = size_t{4} << 20;
    size_t cap           = SIZE_MAX; // bytes mapped, at most
    RegionOptions region = {};
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
    Block
    allocate(size_t size, size_t align = default_alignment, std::string *why = nullptr);

    // False: no such block is out (freed twice, or not of this arena); nothing was
    // changed.
    bool free(const Block &block) noexcept;

    // The registration of the region `address` lies in; false: not of this arena. O(log
    // regions).
    bool find(const void *address, Registration *registration) const;

    ArenaStats stats() const;

    // What the first region that got less than was wished for said; empty: all is as
    // wished.
    std::string note() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace be::memory
