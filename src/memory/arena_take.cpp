// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena_impl.hpp"

#include <algorithm>

namespace be::memory {
namespace {

size_t round_to_pages(size_t size)
{
    return (size + page_size - 1) / page_size * page_size;
}

} // namespace

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
    return index.find(address).region;
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

Slab *Arena::Impl::slab_with_room(unsigned class_index)
{
    SlabList &list = with_room[class_index];
    Slab *slab     = list.any();
    if (slab != nullptr) {
        return slab;
    }
    ArenaRegion *region = best_region(size_t{Slab::pages_of(class_index)} * page_size,
                                      max_slab_class);
    if (region == nullptr) {
        return nullptr;
    }
    slab = region->make_slab(class_index);
    stats.slab_bytes += Slab::pages_of(class_index) * page_size;
    list.add(*slab);
    return slab;
}

// That with the smallest hole that is large enough, so that large holes last. Dedicated
// ones go with their block.
ArenaRegion *Arena::Impl::best_region(size_t length, size_t align) const
{
    ArenaRegion *best = nullptr;
    size_t smallest   = SIZE_MAX;
    for (const auto &[base, region] : regions) {
        const size_t hole = region->dedicated() ? 0 : region->hole_for(length, align);
        if ((hole != 0) && (hole < smallest)) {
            best     = region.get();
            smallest = hole;
        }
    }
    return best;
}

Block Arena::Impl::take_from(ArenaRegion &region, size_t length, size_t align,
                             size_t requested)
{
    char *address = region.allocate_run(length, align, requested);
    return (address != nullptr) ? block(region, address, length, requested) : Block{};
}

Block Arena::Impl::take(size_t size, size_t align)
{
    if (std::max(size, align) <= max_slab_class) {
        const unsigned class_index = class_of(size, align);
        Slab *slab                 = slab_with_room(class_index);
        if (slab == nullptr) {
            return {};
        }
        void *address = slab->take(size);
        if (slab->full()) {
            with_room[class_index].remove(*slab);
        }
        return block(slab->region(), address, class_size(class_index), size);
    }

    const size_t length = round_to_pages(size);
    ArenaRegion *region = best_region(length, align);
    return (region != nullptr) ? take_from(*region, length, align, size) : Block{};
}

size_t Arena::Impl::take_class(unsigned class_index, void **blocks, size_t count)
{
    const size_t size = class_size(class_index);
    size_t done       = 0;
    if (class_index < slab_class_count) {
        while (done < count) {
            Slab *slab = slab_with_room(class_index);
            if (slab == nullptr) {
                break;
            }
            for (; (done < count) && !slab->full(); ++done) {
                blocks[done] = slab->take(size);
            }
            if (slab->full()) {
                with_room[class_index].remove(*slab);
            }
        }
    } else {
        ArenaRegion *region = nullptr;
        while ((done < count) && ((region = best_region(size, page_size)) != nullptr)) {
            blocks[done++] = region->allocate_run(size, page_size, size,
                                                  static_cast<uint8_t>(class_index));
        }
    }
    stats.used += done * size;
    stats.requested += done * size;
    stats.allocations += done;
    return done;
}

size_t Arena::Impl::give(const void *address, Retired &retired)
{
    ArenaRegion *region = region_of(address);
    if (region == nullptr) {
        return 0;
    }

    Slab *slab = region->slab_at(address);
    if (slab == nullptr) {
        const auto run = region->free_run(address);
        if (!run) {
            return 0;
        }
        const size_t length = size_t{run->pages} * page_size;
        count_free(length, run->requested);
        if (region->dedicated() && region->unused()) {
            retired = release(*region);
        }
        return length;
    }

    const size_t requested = slab->give_back(address);
    if (requested == 0) {
        return 0;
    }
    const unsigned class_index = slab->class_index();
    count_free(class_size(class_index), requested);
    SlabList &list = with_room[class_index];
    if (!list.contains(*slab)) {
        list.add(*slab);
    }
    if (slab->empty() && (list.size() > 1)) {
        drop_slab(*slab);
    }
    return class_size(class_index);
}

} // namespace be::memory
