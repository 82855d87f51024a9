// SPDX-License-Identifier: BSD-3-Clause
//
// Memory from large regions that are mapped for the network once.
//
// A region is given to AllocatorOptions::mapper when it comes into being and when it goes;
// blocks inside cost a few nanoseconds and never register anything. Each thread keeps some
// freed blocks at hand; a block may be freed by any thread.
//
//     be::Allocator memory({.mapper = mapper_of(context)});
//     std::pmr::vector<float> gradient(n, &memory);
//     ucp_mem_h handle = static_cast<ucp_mem_h>(memory.find(gradient.data()).handle);
//
// Threads: every function may be called from any thread at any time.
// Ownership: an allocator outlives everything that was allocated from it, and its mapper.
// Errors: allocate() throws std::bad_alloc, try_allocate() says why it returned nothing.
#pragma once

#include <byteexpress/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace be {

// How regions become known to the network.
struct RegionMapper {
    // What the region is known by afterwards (through UCP: a ucp_mem_h). Throws
    // std::exception; the text becomes the reason of the failed allocation. Called from
    // whichever thread needs memory, or from one of the allocator's own.
    std::function<void *(void *address, std::size_t length)> map;
    std::function<void(void *handle)> unmap; // must not throw
};

// What an allocator is made with.
struct AllocatorOptions {
    static constexpr int any_node    = -1; // wherever the kernel puts it
    static constexpr int thread_node = -2; // that of the thread that needs the region

    RegionMapper mapper         = {}; // empty: ordinary memory, known to nobody
    std::string owner           = "application"; // in statistics and reports
    std::size_t first_region    = std::size_t{4} << 20; // bytes; each further one doubles
    std::size_t region          = std::size_t{64} << 20; // bytes of a region, at most
    std::size_t limit           = SIZE_MAX; // bytes mapped, at most
    std::size_t receive_reserve = 0; // bytes of the limit that only receive owners get
    std::size_t thread_cache    = std::size_t{4} << 20; // bytes that a thread keeps
    int numa_node               = any_node; // a node, or one of the above
    bool huge_pages             = true; // where the system has them
    bool grow_ahead             = true; // map the next region before it is needed
    // Red zones, double free, use after free. Slow.
    bool debug = false;
    // Where what `debug` finds goes; empty: to standard error, and abort().
    std::function<void(const std::string &message)> report = {};
};

// Blocks of one size.
struct ClassStats {
    std::size_t block_size    = 0; // bytes
    std::uint64_t allocations = 0; // since the start
    std::uint64_t frees       = 0; // since the start
    std::uint64_t requested   = 0; // bytes asked for, since the start
};

// Blocks of one owner.
struct OwnerStats {
    std::string name; // as given to add_owner()
    std::uint64_t allocations = 0; // since the start
    std::uint64_t frees       = 0; // since the start
    std::uint64_t live        = 0; // bytes, as rounded
};

// What an allocator has, and has done since it was made.
struct AllocatorStats {
    std::size_t mapped      = 0; // bytes in regions
    std::size_t mapped_peak = 0; // bytes
    std::size_t live        = 0; // bytes in blocks that are out, as rounded
    std::size_t cached      = 0; // bytes in the threads' caches
    std::uint64_t maps      = 0; // calls of the mapper
    std::uint64_t failures  = 0; // allocations that got nothing
    std::vector<ClassStats> classes; // those in use, smallest first; the last: all larger
    std::vector<OwnerStats> owners; // by Owner
};

// Memory from regions that are mapped once. A std::pmr::memory_resource as well.
class BE_API Allocator final : public std::pmr::memory_resource {
public:
    static constexpr std::size_t default_alignment = 64; // bytes: a cache line

    // Who a block is counted for. 0 is AllocatorOptions::owner.
    using Owner = std::uint8_t;

    // What find() says.
    struct Region {
        void *handle = nullptr; // what RegionMapper::map() returned
        bool found   = false; // it is of this allocator
    };

    // Throws std::invalid_argument that names the option.
    explicit Allocator(const AllocatorOptions &options = {});
    ~Allocator() override;
    Allocator(const Allocator &)            = delete;
    Allocator &operator=(const Allocator &) = delete;

    // A further owner, of at most 64. `receives`: may use the reserve, and does not depend
    // on what others have left. Throws std::length_error.
    Owner add_owner(std::string_view name, bool receives = false);

    // Null: limit reached or no more memory; *why, when not null, says which. `align`: a
    // power of two up to 2 MiB.
    void *try_allocate(std::size_t bytes, std::size_t align = default_alignment,
                       Owner owner = 0, std::string *why = nullptr) noexcept;

    // As it was allocated.
    void free(void *address, std::size_t bytes, std::size_t align = default_alignment,
              Owner owner = 0) noexcept;

    // When the size is not known. Costs a lookup. Counted for owner 0.
    void free(void *address) noexcept;

    // The region that `address` lies in. A few nanoseconds, no lock.
    Region find(const void *address) const noexcept;

    // Unmaps what no block lies in, except `keep` bytes.
    void trim(std::size_t keep = 0) noexcept;

    // All threads together; not of one moment while others allocate.
    AllocatorStats stats() const;

    // What of the wishes (huge pages, NUMA node) could not be had, and why; empty: all was.
    std::string note() const;

private:
    void *do_allocate(std::size_t bytes, std::size_t align) override;
    void do_deallocate(void *address, std::size_t bytes, std::size_t align) override;
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override;

    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

// For containers of the standard library without std::pmr.
template<typename T>
class StlAllocator {
public:
    // What containers ask for.
    using value_type = T;

    // `memory` outlives the containers.
    explicit StlAllocator(Allocator &memory) noexcept : m_memory(&memory)
    {
    }

    // The same memory for another type.
    template<typename U>
    StlAllocator(const StlAllocator<U> &other) noexcept : m_memory(&other.memory())
    {
    }

    // Room for `count` of T. Throws std::bad_alloc.
    T *allocate(std::size_t count)
    {
        if (count > SIZE_MAX / sizeof(T)) {
            throw std::bad_array_new_length();
        }
        return static_cast<T *>(m_memory->allocate(count * sizeof(T), alignof(T)));
    }

    // What allocate() gave for the same `count`.
    void deallocate(T *address, std::size_t count) noexcept
    {
        m_memory->deallocate(address, count * sizeof(T), alignof(T));
    }

    // Where the memory comes from.
    Allocator &memory() const noexcept
    {
        return *m_memory;
    }

    // What one has allocated the other may free.
    template<typename U>
    bool operator==(const StlAllocator<U> &other) const noexcept
    {
        return m_memory == &other.memory();
    }

private:
    Allocator *m_memory;
};

} // namespace be
