// SPDX-License-Identifier: BSD-3-Clause
#include "memory/heap.hpp"

#include "memory/heap_debug.hpp"
#include "memory/heap_threads.hpp"
#include "memory/page_map.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>

namespace be::memory {

thread_local constinit Heap::Last Heap::last;

namespace {

constexpr size_t batch_bytes     = size_t{64} << 10; // taken from the arena at once
constexpr unsigned largest_batch = 32; // blocks

ArenaConfig without_reserve(const HeapConfig &config)
{
    if (config.receive_reserve >= config.arena.cap) {
        throw std::invalid_argument("a receive reserve of " +
                                    std::to_string(config.receive_reserve) +
                                    " bytes leaves nothing of the limit of " +
                                    std::to_string(config.arena.cap) + " bytes");
    }
    ArenaConfig arena = config.arena;
    arena.cap -= config.receive_reserve;
    return arena;
}

// As the arena rounds.
size_t rounded(size_t size, size_t align)
{
    return (std::max(size, align) <= max_slab_class) ?
                   class_size(class_of(size, align)) :
                   (size + page_size - 1) / page_size * page_size;
}

} // namespace

Heap::Heap(const HeapConfig &config, Registrar registrar) :
    m_key(HeapThreads::next_key()),
    m_config(config),
    m_arena(without_reserve(config), registrar)
{
    if (config.receive_reserve > 0) {
        ArenaConfig reserve = config.arena;
        reserve.first = reserve.step = config.receive_reserve;
        // In whole regions.
        reserve.cap = (config.receive_reserve + region_unit - 1) / region_unit *
                      region_unit;
        reserve.ahead = false;
        m_reserve     = std::make_unique<Arena>(reserve, std::move(registrar));
        std::string why;
        if (!m_reserve->reserve(reserve.cap, &why)) {
            throw std::runtime_error("no receive reserve of " +
                                     std::to_string(config.receive_reserve) +
                                     " bytes: " + why);
        }
    }
    if (config.debug) {
        m_debug = std::make_unique<Debug>(m_debug_mutex, m_arena, config.report);
    }
    (void)add_owner(config.owner);
}

Heap::~Heap()
{
    HeapThreads::forget(*this);
    check();
}

unsigned Heap::add_owner(std::string_view name, bool receives)
{
    const std::lock_guard<ForkMutex> guard(m_mutex);
    const size_t number = m_owners.size();
    if (number == max_owners) {
        throw std::length_error("no owner \"" + std::string(name) + "\": there are " +
                                std::to_string(max_owners) + " of them already");
    }
    m_owners.emplace_back(name);
    const uint64_t bit = uint64_t{1} << number;
    if (m_debug != nullptr) {
        m_debug->add_owner(name);
    } else if (!receives) {
        m_caching.fetch_or(bit, std::memory_order_relaxed);
    }
    if (receives) {
        m_receiving.fetch_or(bit, std::memory_order_relaxed);
    }
    return static_cast<unsigned>(number);
}

ThreadCache *Heap::cache() noexcept
{
    const bool mine = last.key / max_owners == m_key / max_owners;
    return mine ? last.cache : HeapThreads::find(*this);
}

// The next request of that owner is on the fast path.
void Heap::remember(ThreadCache *mine, unsigned owner) noexcept
{
    if ((mine != nullptr) && mine->counters.prepare(owner)) {
        last = {m_key + owner, mine, mine->counters.prepared(owner)};
    }
}

void *Heap::allocate_slowly(size_t size, size_t align, unsigned owner,
                            std::string *why) noexcept
{
    size = std::max<size_t>(size, 1);
    if (!caches(size, owner) || !cacheable(size, align)) {
        return allocate_direct(size, align, owner, why);
    }
    const unsigned class_index = class_of(size, align);
    ThreadCache *mine          = cache();
    remember(mine, owner);
    void *block = (mine != nullptr) ? mine->take(class_index) : nullptr;
    if (block == nullptr) {
        return refill(class_index, size, owner, why);
    }
    mine->counters.allocated(owner, class_index, size);
    return block;
}

void Heap::free_slowly(void *address, size_t size, size_t align, unsigned owner) noexcept
{
    size = std::max<size_t>(size, 1);
    if (address == nullptr) {
        return;
    }
    if (!caches(size, owner) || !cacheable(size, align)) {
        free_direct(address, size, owner);
    } else {
        remember(cache(), owner);
        free_cached(address, class_of(size, align), owner);
    }
}

void Heap::free(void *address) noexcept
{
    Registration ignored;
    if (address == nullptr) {
        return;
    }
    const bool direct = (m_debug != nullptr) ||
                        ((m_reserve != nullptr) && m_reserve->find(address, &ignored));
    const auto class_index = direct ? std::nullopt : m_arena.class_at(address);
    if (class_index) {
        free_cached(address, *class_index, 0);
    } else {
        free_direct(address, 0, 0);
    }
}

void Heap::free_cached(void *address, unsigned class_index, unsigned owner) noexcept
{
    ThreadCache *mine = cache();
    if ((mine != nullptr) && mine->put(class_index, address)) {
        mine->counters.freed(owner, class_index);
    } else {
        spill(class_index, address, owner);
    }
}

// The cache is empty, or there is none.
void *
Heap::refill(unsigned class_index, size_t size, unsigned owner, std::string *why) noexcept
{
    ThreadCache *mine  = cache();
    const bool caching = (mine != nullptr) &&
                         ((mine->room(class_index) > 0) || make_room(*mine, class_index));
    size_t wish = 1;
    if (caching) {
        wish = std::clamp<size_t>(batch_bytes / class_size(class_index), 1,
                                  std::min(mine->room(class_index) / 2, largest_batch));
    }

    std::array<void *, largest_batch> blocks;
    size_t count = 0;
    try {
        count = m_arena.take(class_index, blocks.data(), wish, why);
        if ((count == 0) && caching) {
            flush(*mine); // another class may have it
            count = m_arena.take(class_index, blocks.data(), 1, why);
        }
    } catch (const std::bad_alloc &) {
        if (why != nullptr) {
            *why = "no memory for bookkeeping";
        }
    }
    if (count == 0) {
        count_failure();
        return nullptr;
    }

    size_t kept = 1; // the caller's, and what the cache has room for
    while ((kept < count) && caching && mine->put(class_index, blocks[kept])) {
        ++kept;
    }
    m_arena.give(blocks.data() + kept, count - kept);
    if (mine != nullptr) {
        mine->counters.allocated(owner, class_index, size);
    } else {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        m_counters.allocated(owner, class_index, size);
    }
    return blocks[0];
}

// More room for a class that is in use, from another one if need be.
bool Heap::make_room(ThreadCache &cache, unsigned class_index) noexcept
{
    while (!cache.widen(class_index)) {
        if (cache.room(class_index) == ThreadCache::most(class_index)) {
            return false;
        }
        const unsigned victim = cache.victim(class_index);
        if (victim == class_count) {
            return false;
        }
        void *const *blocks  = nullptr;
        const uint32_t count = cache.drain(victim, UINT32_MAX, &blocks);
        m_arena.give(blocks, count);
        cache.narrow(victim);
    }
    return true;
}

// The cache is full, or there is none.
void Heap::spill(unsigned class_index, void *address, unsigned owner) noexcept
{
    ThreadCache *mine = cache();
    if (mine == nullptr) {
        m_arena.give(&address, 1);
        const std::lock_guard<ForkMutex> guard(m_mutex);
        m_counters.freed(owner, class_index);
        return;
    }

    mine->counters.freed(owner, class_index);
    if (!make_room(*mine, class_index)) {
        void *const *blocks  = nullptr;
        const uint32_t count = mine->drain(class_index,
                                           (mine->count(class_index) + 1) / 2, &blocks);
        m_arena.give(blocks, count);
    }
    if (!mine->put(class_index, address)) { // a cache without any room
        m_arena.give(&address, 1);
    }
}

void Heap::flush(ThreadCache &cache) noexcept
{
    for (unsigned class_index = 0; class_index < class_count; ++class_index) {
        void *const *blocks  = nullptr;
        const uint32_t count = cache.drain(class_index, UINT32_MAX, &blocks);
        m_arena.give(blocks, count);
    }
}

void *Heap::allocate_direct(size_t size, size_t align, unsigned owner,
                            std::string *why) noexcept
{
    void *address = nullptr;
    try {
        if (m_debug != nullptr) {
            address = m_debug->allocate(size, align, rounded(size, align), owner, why);
        } else {
            address = m_arena.allocate(size, align, why).address;
        }
        if ((address == nullptr) && receives(owner) && (m_reserve != nullptr)) {
            address = m_reserve->allocate(size, align, why).address;
        }
    } catch (const std::bad_alloc &) {
        if (why != nullptr) {
            *why = "no memory for bookkeeping";
        }
    }
    if (address == nullptr) {
        count_failure();
        return nullptr;
    }
    const std::lock_guard<ForkMutex> guard(m_mutex);
    m_large[owner].allocated(size, rounded(size, align));
    return address;
}

// `size` 0: not known.
void Heap::free_direct(void *address, size_t size, unsigned owner) noexcept
{
    Registration ignored;
    size_t length = 0;
    if ((m_reserve != nullptr) && m_reserve->find(address, &ignored)) {
        length = m_reserve->release(address);
    } else if (m_debug != nullptr) {
        length = m_debug->free(address, size, owner);
    } else {
        length = m_arena.release(address);
    }
    if (length != 0) {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        m_large[owner].freed(length);
    }
}

void Heap::count_failure() noexcept
{
    const std::lock_guard<ForkMutex> guard(m_mutex);
    ++m_failures;
}

void Heap::trim(size_t keep) noexcept
{
    if (m_debug != nullptr) {
        m_debug->release_all();
    } else if (ThreadCache *mine = cache(); mine != nullptr) {
        flush(*mine);
    }
    m_arena.trim(keep);
}

void Heap::check() noexcept
{
    if (m_debug != nullptr) {
        m_debug->check();
    }
}

HeapStats Heap::stats() const
{
    HeapStats stats;
    stats.arena = m_arena.stats();
    if (m_reserve != nullptr) {
        stats.reserve = m_reserve->stats();
    }

    const std::lock_guard<ForkMutex> guard(m_mutex);
    HeapCounters sum;
    sum.add(m_counters);
    for (const ThreadCache *cache : m_caches) {
        sum.add(cache->counters);
        stats.cached += cache->bytes();
    }
    for (unsigned number = 0; number < m_owners.size(); ++number) {
        const Large &large  = m_large[number];
        HeapOwnerStats mine = {m_owners[number], large.counts.allocations,
                               large.counts.frees, 0};
        uint64_t live       = large.bytes; // an owner may free what others allocated
        HeapClassStats &all = stats.classes[class_count];
        all.allocations += large.counts.allocations;
        all.frees += large.counts.frees;
        all.requested += large.counts.requested;
        const HeapCounters::Owner *counts = sum.owner(number);
        for (unsigned i = 0; (counts != nullptr) && (i < class_count); ++i) {
            const HeapCounters::Class &one = counts->classes[i];
            stats.classes[i].allocations += one.allocations.get();
            stats.classes[i].frees += one.frees.get();
            stats.classes[i].requested += one.requested.get();
            mine.allocations += one.allocations.get();
            mine.frees += one.frees.get();
            live += (one.allocations.get() - one.frees.get()) * class_size(i);
        }
        stats.live += live;
        mine.live = (static_cast<int64_t>(live) > 0) ? live : 0;
        stats.owners.push_back(std::move(mine));
    }
    stats.failures = m_failures;
    return stats;
}

} // namespace be::memory
