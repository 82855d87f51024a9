// SPDX-License-Identifier: BSD-3-Clause
#include "memory/slab.hpp"

#include "memory/arena_region.hpp"

namespace be::memory {
namespace {

constexpr size_t small_slab    = 64 * 1024; // bytes: of blocks up to an eighth of it
constexpr size_t large_slab    = 256 * 1024; // bytes: of the others
constexpr size_t blocks_a_slab = 8; // at least

static_assert(large_slab / max_slab_class >= blocks_a_slab);
static_assert(small_slab / min_class_size <= UINT16_MAX);

} // namespace

uint32_t Slab::pages_of(unsigned class_index)
{
    const bool small = class_size(class_index) * blocks_a_slab <= small_slab;
    return static_cast<uint32_t>((small ? small_slab : large_slab) / page_size);
}

Slab::Slab(ArenaRegion &region, uint32_t first_page, unsigned class_index) :
    m_region(region),
    m_first_page(first_page),
    m_class(class_index),
    m_block_size(class_size(class_index)),
    m_base(region.page_address(first_page))
{
    const size_t blocks = pages_of(class_index) * page_size / m_block_size;
    m_requested.resize(blocks, 0);
    m_free.reserve(blocks);
    for (size_t i = blocks; i > 0; --i) {
        m_free.push_back(static_cast<uint16_t>(i - 1));
    }
}

void *Slab::take(size_t requested)
{
    if (full()) {
        return nullptr;
    }
    const uint16_t index = m_free.back();
    m_free.pop_back();
    m_requested[index] = static_cast<uint32_t>(requested);
    return m_base + index * m_block_size;
}

size_t Slab::give_back(const void *address)
{
    const size_t offset = static_cast<size_t>(static_cast<const char *>(address) -
                                              m_base);
    const size_t index  = offset / m_block_size;
    if ((offset % m_block_size != 0) || (index >= m_requested.size())) {
        return 0;
    }
    const size_t requested = m_requested[index];
    if (requested != 0) {
        m_requested[index] = 0;
        m_free.push_back(static_cast<uint16_t>(index));
    }
    return requested;
}

void SlabList::add(Slab &slab)
{
    slab.m_position = m_slabs.size();
    m_slabs.push_back(&slab);
}

void SlabList::remove(Slab &slab)
{
    Slab *last               = m_slabs.back();
    m_slabs[slab.m_position] = last;
    last->m_position         = slab.m_position;
    slab.m_position          = Slab::not_listed;
    m_slabs.pop_back();
}

bool SlabList::contains(const Slab &slab) const
{
    return slab.m_position != Slab::not_listed;
}

std::vector<Slab *> SlabList::empty_ones() const
{
    std::vector<Slab *> result;
    for (Slab *slab : m_slabs) {
        if (slab->empty()) {
            result.push_back(slab);
        }
    }
    return result;
}

} // namespace be::memory
