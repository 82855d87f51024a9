// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena_region.hpp"

#include <algorithm>

namespace be::memory {
namespace {

uint32_t pages_in(size_t bytes)
{
    return static_cast<uint32_t>((bytes + page_size - 1) / page_size);
}

} // namespace

ArenaRegion::ArenaRegion(size_t length, const RegionOptions &options,
                         const Registrar &registrar, uint32_t number, bool dedicated) :
    m_registrar(registrar),
    m_memory(Region::map(length, options)),
    m_number(number),
    m_dedicated(dedicated),
    m_pages(pages_in(m_memory.length())),
    m_slab_of(pages_in(m_memory.length()), nullptr),
    m_class_of(pages_in(m_memory.length()))
{
    m_registration = m_registrar.add(m_memory.data(), m_memory.length());
}

ArenaRegion::~ArenaRegion()
{
    m_registrar.remove(m_registration);
}

uint32_t ArenaRegion::page_of(const void *address) const
{
    const char *base = static_cast<const char *>(m_memory.data());
    return static_cast<uint32_t>((static_cast<const char *>(address) - base) / page_size);
}

size_t ArenaRegion::hole_for(size_t length, size_t align) const
{
    const auto pages = m_pages.best_fit(pages_in(length), std::max(pages_in(align), 1u));
    return size_t{pages.value_or(0)} * page_size;
}

char *ArenaRegion::allocate_run(size_t length, size_t align, size_t requested,
                                uint8_t class_index)
{
    const uint32_t pages = pages_in(length);
    const auto first     = m_pages.allocate(pages, std::max(pages_in(align), 1u));
    if (!first) {
        return nullptr;
    }
    m_runs.emplace(*first, Run{pages, requested});
    m_class_of[*first].store(class_index, std::memory_order_relaxed);
    return page_address(*first);
}

std::optional<ArenaRegion::Run> ArenaRegion::free_run(const void *address)
{
    const auto found = m_runs.find(page_of(address));
    if ((found == m_runs.end()) || (page_address(found->first) != address)) {
        return std::nullopt;
    }
    const Run run = found->second;
    m_pages.free(found->first, run.pages);
    m_runs.erase(found);
    return run;
}

Slab *ArenaRegion::make_slab(unsigned class_index)
{
    const uint32_t pages = Slab::pages_of(class_index);
    // A slab begins at a multiple of the largest slab class, for blocks that are aligned to
    // their size.
    const auto first = m_pages.allocate(pages, pages_in(max_slab_class));
    if (!first) {
        return nullptr;
    }
    auto slab    = std::make_unique<Slab>(*this, *first, class_index);
    Slab *result = slab.get();
    std::fill_n(m_slab_of.begin() + *first, pages, result);
    for (uint32_t page = *first; page < *first + pages; ++page) {
        m_class_of[page].store(static_cast<uint8_t>(class_index),
                               std::memory_order_relaxed);
    }
    m_slabs.emplace(*first, std::move(slab));
    return result;
}

void ArenaRegion::drop_slab(Slab &slab)
{
    const uint32_t first = slab.first_page();
    const uint32_t pages = Slab::pages_of(slab.class_index());
    std::fill_n(m_slab_of.begin() + first, pages, nullptr);
    m_pages.free(first, pages);
    m_slabs.erase(first);
}

Slab *ArenaRegion::slab_at(const void *address) const
{
    return m_slab_of[page_of(address)];
}

} // namespace be::memory
