// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/allocator.hpp>

#include "memory/heap.hpp"

#include <stdexcept>

namespace be {
namespace {

using memory::Heap;
using memory::HeapConfig;
using memory::Registrar;
using memory::Registration;

HeapConfig heap_config(const AllocatorOptions &options)
{
    if (options.numa_node < AllocatorOptions::thread_node) {
        throw std::invalid_argument(
                "numa_node " + std::to_string(options.numa_node) +
                ": a node, any_node (-1) or thread_node (-2) was expected");
    }
    HeapConfig config;
    config.arena.first             = options.first_region;
    config.arena.step              = options.region;
    config.arena.cap               = options.limit;
    config.arena.ahead             = options.grow_ahead;
    config.arena.region.numa_node  = options.numa_node;
    config.arena.region.huge_pages = options.huge_pages;
    config.thread_cache            = options.thread_cache;
    config.receive_reserve         = options.receive_reserve;
    config.owner                   = options.owner;
    config.debug                   = options.debug;
    config.report                  = options.report;
    return config;
}

Registrar registrar(const RegionMapper &mapper)
{
    if (static_cast<bool>(mapper.map) != static_cast<bool>(mapper.unmap)) {
        throw std::invalid_argument("a mapper needs both map and unmap, or neither");
    }
    if (!mapper.map) {
        return {[](void *, size_t) { return Registration{}; },
                [](const Registration &) {}};
    }
    return {[map = mapper.map](void *address, size_t length) {
                return Registration{0, 0, map(address, length)};
            },
            [unmap = mapper.unmap](const Registration &registration) {
                unmap(registration.handle);
            }};
}

} // namespace

struct Allocator::Impl {
    explicit Impl(const AllocatorOptions &options) :
        heap(heap_config(options), registrar(options.mapper))
    {
    }

    Heap heap;
};

Allocator::Allocator(const AllocatorOptions &options) :
    m_impl(std::make_unique<Impl>(options))
{
}

Allocator::~Allocator() = default;

Allocator::Owner Allocator::add_owner(std::string_view name, bool receives)
{
    return static_cast<Owner>(m_impl->heap.add_owner(name, receives));
}

void *Allocator::try_allocate(size_t bytes, size_t align, Owner owner,
                              std::string *why) noexcept
{
    return m_impl->heap.allocate(bytes, align, owner, why);
}

void Allocator::free(void *address, size_t bytes, size_t align, Owner owner) noexcept
{
    m_impl->heap.free(address, bytes, align, owner);
}

void Allocator::free(void *address) noexcept
{
    m_impl->heap.free(address);
}

Allocator::Region Allocator::find(const void *address) const noexcept
{
    Registration registration;
    const bool found = m_impl->heap.find(address, &registration);
    return {registration.handle, found};
}

void Allocator::trim(size_t keep) noexcept
{
    m_impl->heap.trim(keep);
}

AllocatorStats Allocator::stats() const
{
    const memory::HeapStats heap = m_impl->heap.stats();
    AllocatorStats stats;
    stats.mapped      = heap.arena.mapped + heap.reserve.mapped;
    stats.mapped_peak = heap.arena.mapped_peak + heap.reserve.mapped_peak;
    stats.live        = heap.live;
    stats.cached      = heap.cached;
    stats.maps        = heap.arena.registrations + heap.reserve.registrations;
    stats.failures    = heap.failures;
    for (unsigned i = 0; i < heap.classes.size(); ++i) {
        const memory::HeapClassStats &one = heap.classes[i];
        if (one.allocations != 0) {
            const size_t size = (i < memory::class_count) ? memory::class_size(i) : 0;
            stats.classes.push_back({size, one.allocations, one.frees, one.requested});
        }
    }
    for (const memory::HeapOwnerStats &owner : heap.owners) {
        stats.owners.push_back({owner.name, owner.allocations, owner.frees, owner.live});
    }
    return stats;
}

std::string Allocator::note() const
{
    return m_impl->heap.note();
}

void *Allocator::do_allocate(size_t bytes, size_t align)
{
    void *address = m_impl->heap.allocate(bytes, align);
    if (address == nullptr) {
        throw std::bad_alloc();
    }
    return address;
}

void Allocator::do_deallocate(void *address, size_t bytes, size_t align)
{
    m_impl->heap.free(address, bytes, align);
}

bool Allocator::do_is_equal(const std::pmr::memory_resource &other) const noexcept
{
    return this == &other;
}

} // namespace be
