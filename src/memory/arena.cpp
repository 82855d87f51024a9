// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena.hpp"

#include "memory/arena_region.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <stdexcept>

namespace be::memory {
namespace {

// Pages of a region are numbered with 32 bits.
constexpr size_t max_region = size_t{UINT32_MAX} * page_size / region_unit * region_unit;

size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

} // namespace

struct Arena::Impl {
    ArenaConfig config;
    Registrar registrar;
    mutable std::mutex mutex;
    std::map<uintptr_t, std::unique_ptr<ArenaRegion>> regions; // by base address
    std::array<SlabList, class_count> with_room; // slabs, by class
    uint32_t next_number = 0;
    ArenaStats stats;
    std::string note;

    // All below: with the mutex held.
    Block allocate(size_t size, size_t align, std::string &why);
    Block allocate_small(size_t size, size_t align, std::string &why);
    Block allocate_large(size_t size, size_t align, std::string &why);
    bool free(const void *address);
    ArenaRegion *region_of(const void *address) const;
    std::unique_ptr<ArenaRegion>
    make_region(size_t length, bool dedicated, std::string &why);
    ArenaRegion *grow(size_t length, std::string &why);
    void release(ArenaRegion &region);
    void drop_slab(Slab &slab);
    bool drop_empty_slabs();
    Block
    block(const ArenaRegion &region, void *address, size_t length, size_t requested);
    void count_free(size_t length, size_t requested);
};

Block Arena::Impl::block(const ArenaRegion &region, void *address, size_t length,
                         size_t requested)
{
    stats.used += length;
    stats.requested += requested;
    ++stats.allocations;
    const Registration &registration = region.registration();
    return {address, length, registration.lkey, registration.rkey, region.number()};
}

void Arena::Impl::count_free(size_t length, size_t requested)
{
    stats.used -= length;
    stats.requested -= requested;
    ++stats.frees;
}

ArenaRegion *Arena::Impl::region_of(const void *address) const
{
    const auto value = reinterpret_cast<uintptr_t>(address);
    auto region      = regions.upper_bound(value);
    if (region == regions.begin()) {
        return nullptr;
    }
    --region;
    return (value - region->first < region->second->memory().length()) ?
                   region->second.get() :
                   nullptr;
}

// Null: the system or the device refused, `why` tells.
std::unique_ptr<ArenaRegion>
Arena::Impl::make_region(size_t length, bool dedicated, std::string &why)
{
    try {
        return std::make_unique<ArenaRegion>(length, config.region, registrar,
                                             next_number++, dedicated);
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &error) {
        why = error.what();
        return nullptr;
    }
}

// A region with room for a block of `length` bytes, whatever its alignment. Null: `why`
// is set.
ArenaRegion *Arena::Impl::grow(size_t length, std::string &why)
{
    const size_t room = (config.cap - stats.mapped) / region_unit * region_unit;
    const size_t need = round_up(length, region_unit);
    if (need > room) {
        why = "the memory limit of " + std::to_string(config.cap) +
              " bytes is reached: " + std::to_string(stats.mapped) + " are mapped, " +
              std::to_string(stats.used) + " of them in use";
        return nullptr;
    }

    const size_t step    = round_up(config.step, region_unit);
    const size_t wish    = std::max(need, std::min(step, room));
    const bool dedicated = need > step;
    // Close to a limit of the system the step may be too much where the block itself
    // still fits.
    std::unique_ptr<ArenaRegion> region = make_region(wish, dedicated, why);
    if ((region == nullptr) && (need < wish)) {
        region = make_region(need, dedicated, why);
    }
    if (region == nullptr) {
        return nullptr;
    }

    ++stats.registrations;
    ++stats.regions;
    stats.mapped += region->memory().length();
    stats.mapped_peak = std::max(stats.mapped_peak, stats.mapped);
    if (note.empty()) {
        note = region->memory().note();
    }
    const auto base = reinterpret_cast<uintptr_t>(region->memory().data());
    return regions.emplace(base, std::move(region)).first->second.get();
}

void Arena::Impl::release(ArenaRegion &region)
{
    --stats.regions;
    stats.mapped -= region.memory().length();
    regions.erase(reinterpret_cast<uintptr_t>(region.memory().data()));
}

void Arena::Impl::drop_slab(Slab &slab)
{
    with_room[slab.class_index()].remove(slab);
    stats.slab_bytes -= Slab::pages_of(slab.class_index()) * page_size;
    slab.region().drop_slab(slab);
}

// Empty slabs are kept for their class until their pages are wanted. False: there were
// none.
bool Arena::Impl::drop_empty_slabs()
{
    bool any = false;
    for (const SlabList &list : with_room) {
        for (Slab *slab : list.empty_ones()) {
            drop_slab(*slab);
            any = true;
        }
    }
    return any;
}

Block Arena::Impl::allocate_small(size_t size, size_t align, std::string &why)
{
    const unsigned index = class_of(size, align);
    SlabList &list       = with_room[index];
    Slab *slab           = list.any();
    if (slab == nullptr) {
        for (auto region = regions.begin();
             (region != regions.end()) && (slab == nullptr); ++region) {
            if (!region->second->dedicated()) {
                slab = region->second->make_slab(index);
            }
        }
        const size_t bytes = Slab::pages_of(index) * page_size;
        if (slab == nullptr) {
            ArenaRegion *region = grow(bytes, why);
            if (region == nullptr) {
                return {};
            }
            slab = region->make_slab(index);
        }
        stats.slab_bytes += bytes;
        list.add(*slab);
    }

    void *address = slab->take(size);
    if (slab->full()) {
        list.remove(*slab);
    }
    return block(slab->region(), address, class_size(index), size);
}

Block Arena::Impl::allocate_large(size_t size, size_t align, std::string &why)
{
    const size_t length = round_up(size, page_size);
    for (auto &[base, region] : regions) {
        if (region->dedicated()) {
            continue; // goes away with its block
        }
        if (char *address = region->allocate_run(length, align, size)) {
            return block(*region, address, length, size);
        }
    }
    ArenaRegion *region = grow(length, why);
    if (region == nullptr) {
        return {};
    }
    return block(*region, region->allocate_run(length, align, size), length, size);
}

Block Arena::Impl::allocate(size_t size, size_t align, std::string &why)
{
    if (!std::has_single_bit(align) || (align > region_unit)) {
        why = "alignment " + std::to_string(align) + ": a power of two up to " +
              std::to_string(region_unit) + " was expected";
        return {};
    }
    if (size > max_region) {
        why = "the largest block has " + std::to_string(max_region) + " bytes";
        return {};
    }
    size = std::max<size_t>(size, 1);
    return (std::max(size, align) <= max_class_size) ? allocate_small(size, align, why) :
                                                       allocate_large(size, align, why);
}

bool Arena::Impl::free(const void *address)
{
    ArenaRegion *region = region_of(address);
    if (region == nullptr) {
        return false;
    }

    Slab *slab = region->slab_at(address);
    if (slab == nullptr) {
        const auto run = region->free_run(address);
        if (!run) {
            return false;
        }
        count_free(run->pages * page_size, run->requested);
        if (region->dedicated() && region->unused()) {
            release(*region);
        }
        return true;
    }

    const size_t requested = slab->give_back(address);
    if (requested == 0) {
        return false;
    }
    const unsigned index = slab->class_index();
    count_free(class_size(index), requested);
    SlabList &list = with_room[index];
    if (!list.contains(*slab)) {
        list.add(*slab);
    }
    if (slab->empty() && (list.size() > 1)) {
        drop_slab(*slab);
    }
    return true;
}

Arena::Arena(const ArenaConfig &config, Registrar registrar) :
    m_impl(std::make_unique<Impl>())
{
    if ((config.step == 0) || (config.step > max_region)) {
        throw std::invalid_argument("arena step of " + std::to_string(config.step) +
                                    " bytes: 1 to " + std::to_string(max_region) +
                                    " was expected");
    }
    m_impl->config    = config;
    m_impl->registrar = std::move(registrar);
}

Arena::~Arena() = default;

Block Arena::allocate(size_t size, size_t align, std::string *why)
{
    std::string reason;
    const std::lock_guard<std::mutex> guard(m_impl->mutex);

    Block block = m_impl->allocate(size, align, reason);
    if (!block && m_impl->drop_empty_slabs()) {
        reason.clear();
        block = m_impl->allocate(size, align, reason);
    }
    if (!block) {
        ++m_impl->stats.failures;
        if (why != nullptr) {
            *why = "no memory for a block of " + std::to_string(size) +
                   " bytes: " + reason;
        }
    }
    return block;
}

bool Arena::free(const Block &block) noexcept
{
    const std::lock_guard<std::mutex> guard(m_impl->mutex);
    const bool freed = m_impl->free(block.address);
    if (!freed) {
        ++m_impl->stats.bad_frees;
    }
    return freed;
}

bool Arena::find(const void *address, Registration *registration) const
{
    const std::lock_guard<std::mutex> guard(m_impl->mutex);
    const ArenaRegion *region = m_impl->region_of(address);
    if (region == nullptr) {
        return false;
    }
    *registration = region->registration();
    return true;
}

ArenaStats Arena::stats() const
{
    const std::lock_guard<std::mutex> guard(m_impl->mutex);
    return m_impl->stats;
}

std::string Arena::note() const
{
    const std::lock_guard<std::mutex> guard(m_impl->mutex);
    return m_impl->note;
}

} // namespace be::memory
