// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena.hpp"

#include "memory/arena_impl.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace be::memory {
namespace {

// Pages of a region are numbered with 32 bits.
constexpr size_t max_region = size_t{UINT32_MAX} * page_size / region_unit * region_unit;

// Empty: such a block can be had.
std::string objection(size_t size, size_t align)
{
    if (!std::has_single_bit(align) || (align > region_unit)) {
        return "alignment " + std::to_string(align) + ": a power of two up to " +
               std::to_string(region_unit) + " was expected";
    }
    if (size > max_region) {
        return "the largest block has " + std::to_string(max_region) + " bytes";
    }
    return {};
}

// A region that fits this has room for the block wherever it begins.
size_t room_for(size_t size, size_t align)
{
    return (std::max(size, align) <= max_slab_class) ?
                   Slab::pages_of(class_of(size, align)) * page_size :
                   size;
}

const char *const not_waited_for = "more is mapped meanwhile, and was not waited for";

} // namespace

Arena::Arena(const ArenaConfig &config, Registrar registrar) :
    m_impl(std::make_unique<Impl>())
{
    for (const size_t bytes : {config.first, config.step}) {
        if ((bytes == 0) || (bytes > max_region)) {
            throw std::invalid_argument("arena step of " + std::to_string(bytes) +
                                        " bytes: 1 to " + std::to_string(max_region) +
                                        " was expected");
        }
    }
    m_impl->config    = config;
    m_impl->registrar = std::move(registrar);
    m_impl->next_step = (std::min(config.first, config.step) + region_unit - 1) /
                        region_unit * region_unit;
    if (config.ahead) {
        m_impl->config.ahead = Grower::instance().start();
    }
}

Arena::~Arena()
{
    Grower::instance().cancel(*m_impl);
}

Block Arena::allocate(size_t size, size_t align, std::string *why, Growth growth)
{
    size               = std::max<size_t>(size, 1);
    std::string reason = objection(size, align);
    Block block;
    bool ahead = false;
    {
        Impl::Lock lock(m_impl->mutex);
        while (reason.empty()) {
            block = m_impl->take(size, align);
            if (block) {
                break;
            }
            if (m_impl->drop_empty_slabs()) {
                continue;
            }
            if (growth == Growth::elsewhere) {
                reason         = not_waited_for;
                m_impl->wanted = room_for(size, align);
                break;
            }
            ArenaRegion *own = nullptr;
            if (!m_impl->grow(lock, room_for(size, align), reason, &own)) {
                break;
            }
            reason.clear();
            if (own != nullptr) {
                block = m_impl->take_from(*own,
                                          (size + page_size - 1) / page_size * page_size,
                                          align, size);
                break;
            }
        }
        m_impl->stats.failures += block ? 0 : 1;
        ahead = m_impl->wants_ahead();
    }
    m_impl->look_ahead(ahead);
    if (!block && (why != nullptr)) {
        *why = "no memory for a block of " + std::to_string(size) + " bytes: " + reason;
    }
    return block;
}

size_t Arena::release(void *address) noexcept
{
    Impl::Retired retired; // unmapped without the lock
    const std::lock_guard<ForkMutex> guard(m_impl->mutex);
    const size_t length = m_impl->give(address, retired);
    m_impl->stats.bad_frees += (length != 0) ? 0 : 1;
    return length;
}

size_t Arena::take(unsigned class_index, void **blocks, size_t count, std::string *why)
{
    const size_t size = class_size(class_index);
    std::string reason;
    size_t done = 0;
    bool ahead  = false;
    {
        Impl::Lock lock(m_impl->mutex);
        for (;;) {
            done = m_impl->take_class(class_index, blocks, count);
            if (done > 0) {
                break;
            }
            if (!m_impl->drop_empty_slabs() &&
                !m_impl->grow(lock, room_for(size, default_alignment), reason, nullptr)) {
                break;
            }
        }
        m_impl->stats.failures += (done > 0) ? 0 : 1;
        ahead = m_impl->wants_ahead();
    }
    m_impl->look_ahead(ahead);
    if ((done == 0) && (why != nullptr)) {
        *why = "no memory for a block of " + std::to_string(size) + " bytes: " + reason;
    }
    return done;
}

void Arena::give(void *const *blocks, size_t count) noexcept
{
    Impl::Retired retired; // unmapped without the lock
    const std::lock_guard<ForkMutex> guard(m_impl->mutex);
    for (size_t i = 0; i < count; ++i) {
        m_impl->stats.bad_frees += (m_impl->give(blocks[i], retired) != 0) ? 0 : 1;
    }
}

std::optional<unsigned> Arena::class_at(const void *address) const noexcept
{
    const ArenaRegion *region = m_impl->region_of(address);
    const unsigned found      = (region != nullptr) ? region->class_at(address) :
                                                      ArenaRegion::no_class;
    return (found != ArenaRegion::no_class) ? std::optional<unsigned>(found) :
                                              std::nullopt;
}

bool Arena::find(const void *address, Registration *registration) const noexcept
{
    const RegionIndex::Entry entry = m_impl->index.find(address);
    if (entry.region == nullptr) {
        return false;
    }
    *registration = entry.registration;
    return true;
}

bool Arena::reserve(size_t bytes, std::string *why)
{
    std::string reason;
    Impl::Lock lock(m_impl->mutex);
    while (m_impl->free_bytes() < bytes) {
        const size_t missing = bytes - m_impl->free_bytes();
        if (!m_impl->grow(lock, std::min(missing, m_impl->config.step), reason,
                          nullptr)) {
            if (why != nullptr) {
                *why = std::move(reason);
            }
            return false;
        }
    }
    return true;
}

void Arena::trim(size_t keep) noexcept
{
    const std::lock_guard<ForkMutex> guard(m_impl->mutex);
    m_impl->drop_empty_slabs();
    for (auto next = m_impl->regions.begin(); next != m_impl->regions.end();) {
        ArenaRegion &region = *next->second;
        ++next;
        if (region.unused() &&
            (m_impl->stats.mapped - region.memory().length() >= keep)) {
            (void)m_impl->release(region);
        }
    }
}

ArenaStats Arena::stats() const
{
    const std::lock_guard<ForkMutex> guard(m_impl->mutex);
    return m_impl->stats;
}

std::string Arena::note() const
{
    const std::lock_guard<ForkMutex> guard(m_impl->mutex);
    return m_impl->note;
}

} // namespace be::memory
