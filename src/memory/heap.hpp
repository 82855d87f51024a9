// SPDX-License-Identifier: BSD-3-Clause
//
// malloc() and free() for registered memory: an arena behind a cache in each thread.
//
// Cost: allocate() and free() of blocks up to max_class_size are a few instructions as long
// as the thread's cache can serve them, and one lock for a batch of blocks otherwise. A
// block may be freed by any thread: it goes to that thread's cache.
// Bounded: a thread holds back at most HeapConfig::thread_cache bytes, and gives all back
// when it ends.
// Reserve: owners that receive are served from HeapConfig::receive_reserve when everything
// else is used up; nobody else gets any of it.
// Debug mode (HeapConfig::debug): see debug_blocks.hpp.
//
// Threads: all functions, any thread. fork(): the child may go on with what the forking
// thread has; what other threads had in their caches is lost to it.
// Ownership: the heap outlives its blocks; threads and heap may end in any order.
#pragma once

#include "memory/arena.hpp"
#include "memory/fork_mutex.hpp"
#include "memory/heap_stats.hpp"
#include "memory/thread_cache.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace be::memory {

struct HeapConfig {
    ArenaConfig arena      = {};
    size_t thread_cache    = size_t{4} << 20; // bytes
    size_t receive_reserve = 0; // bytes, mapped at once, within ArenaConfig::cap
    std::string owner      = "application"; // number 0
    bool debug             = false;
    // What the debug mode finds; empty: standard error, then abort().
    std::function<void(const std::string &message)> report = {};
};

class Heap {
public:
    static constexpr size_t default_alignment = Arena::default_alignment;
    static constexpr unsigned max_owners      = HeapCounters::max_owners;

    // Throws std::invalid_argument that names the value, std::runtime_error when the
    // reserve cannot be had.
    Heap(const HeapConfig &config, Registrar registrar);
    ~Heap();
    Heap(const Heap &)            = delete;
    Heap &operator=(const Heap &) = delete;

    // Returns its number. Throws std::length_error when there are max_owners.
    unsigned add_owner(std::string_view name, bool receives = false);

    // Null: no memory, *why (if not null) tells. `align`: a power of two, at most
    // region_unit.
    void *allocate(size_t size, size_t align = default_alignment, unsigned owner = 0,
                   std::string *why = nullptr) noexcept
    {
        const Last &mine = last;
        if ((mine.key == m_key + owner) && (size - 1 < max_class_size) && common(align))
                [[likely]] {
            const unsigned class_index = class_of(size);
            void *block                = mine.cache->take(class_index);
            if (block != nullptr) [[likely]] {
                mine.counts->allocated(class_index, size);
                return block;
            }
        }
        return allocate_slowly(size, align, owner, why);
    }

    // With the values that it was allocated with.
    void free(void *address, size_t size, size_t align = default_alignment,
              unsigned owner = 0) noexcept
    {
        const Last &mine = last;
        if ((mine.key == m_key + owner) && (size - 1 < max_class_size) && common(align) &&
            (address != nullptr)) [[likely]] {
            const unsigned class_index = class_of(size);
            if (mine.cache->put(class_index, address)) [[likely]] {
                mine.counts->freed(class_index);
                return;
            }
        }
        free_slowly(address, size, align, owner);
    }

    // When they are not known; counted for owner 0. Addresses that are not of this heap
    // are counted as ArenaStats::bad_frees.
    void free(void *address) noexcept;

    // No lock. False: not of this heap.
    bool find(const void *address, Registration *registration) const noexcept
    {
        return m_arena.find(address, registration) ||
               ((m_reserve != nullptr) && m_reserve->find(address, registration));
    }

    // Gives back what the calling thread's cache holds, and regions without blocks as long
    // as `keep` bytes stay mapped.
    void trim(size_t keep) noexcept;

    // In debug mode: looks at all red zones and at what was freed lately.
    void check() noexcept;

    HeapStats stats() const;

    std::string note() const
    {
        return m_arena.note();
    }

private:
    friend class HeapThreads;
    class Debug;

    // The heap and the owner, whose blocks are cached, that a thread used last: what the
    // fast path needs. In the block that is reached without a call.
    struct Last {
        uint64_t key                = 0; // m_key + owner; 0: none
        ThreadCache *cache          = nullptr; // set with it
        HeapCounters::Owner *counts = nullptr; // set with it
    };
    static thread_local constinit Last last __attribute__((tls_model("initial-exec")));

    // Blocks of that size, for that owner, come from caches.
    bool caches(size_t size, unsigned owner) const noexcept
    {
        return (((m_caching.load(std::memory_order_relaxed) >> owner) & 1) != 0) &
               (size - 1 < max_class_size);
    }

    // What every block of every class has.
    static bool common(size_t align) noexcept
    {
        return (align <= min_class_size) & ((align & (align - 1)) == 0);
    }

    // Slabs are aligned to any block of theirs. Runs are aligned to pages only, so that
    // their place does not depend on the request.
    static bool cacheable(size_t size, size_t align) noexcept
    {
        return (align <= ((size <= max_slab_class) ? max_slab_class : page_alignment)) &&
               ((align & (align - 1)) == 0);
    }

    bool receives(unsigned owner) const noexcept
    {
        return ((m_receiving.load(std::memory_order_relaxed) >> owner) & 1) != 0;
    }

    struct Large {
        HeapClassStats counts;
        uint64_t bytes = 0; // that are out, as rounded

        void allocated(size_t requested, size_t length) noexcept
        {
            ++counts.allocations;
            counts.requested += requested;
            bytes += length;
        }

        void freed(size_t length) noexcept
        {
            ++counts.frees;
            bytes -= length;
        }
    };

    ThreadCache *cache() noexcept;
    void remember(ThreadCache *mine, unsigned owner) noexcept;
    void *
    allocate_slowly(size_t size, size_t align, unsigned owner, std::string *why) noexcept;
    void free_slowly(void *address, size_t size, size_t align, unsigned owner) noexcept;
    void free_cached(void *address, unsigned class_index, unsigned owner) noexcept;
    void *
    refill(unsigned class_index, size_t size, unsigned owner, std::string *why) noexcept;
    void spill(unsigned class_index, void *address, unsigned owner) noexcept;
    void flush(ThreadCache &cache) noexcept;
    bool make_room(ThreadCache &cache, unsigned class_index) noexcept;
    void *
    allocate_direct(size_t size, size_t align, unsigned owner, std::string *why) noexcept;
    void free_direct(void *address, size_t size, unsigned owner) noexcept;
    void count_failure() noexcept;

    static constexpr size_t page_alignment = 4096; // bytes

    const uint64_t m_key; // a multiple of max_owners, never used again, unlike an address
    HeapConfig m_config;
    ForkMutex m_debug_mutex; // in front of the arenas, whose are taken under it
    Arena m_arena;
    std::unique_ptr<Arena> m_reserve;
    std::unique_ptr<Debug> m_debug;
    std::atomic<uint64_t> m_caching{0}; // bit per owner
    std::atomic<uint64_t> m_receiving{0}; // bit per owner

    mutable ForkMutex m_mutex;
    // With the mutex held:
    std::vector<std::string> m_owners;
    HeapCounters m_counters; // of threads that ended, or have no cache
    std::array<Large, max_owners> m_large; // blocks that bypass the caches, by owner
    std::vector<ThreadCache *> m_caches; // of all threads
    uint64_t m_failures = 0;
};

} // namespace be::memory
