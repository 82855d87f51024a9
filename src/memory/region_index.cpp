// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region_index.hpp"

#include "memory/region.hpp"

#include <bit>

namespace be::memory {
namespace {

constexpr size_t first_size = 64; // units: two regions of 32 MiB
constexpr auto unit_shift   = std::countr_zero(region_unit);

uintptr_t key_of(const void *address) noexcept
{
    return (reinterpret_cast<uintptr_t>(address) >> unit_shift) + 1;
}

} // namespace

RegionIndex::RegionIndex()
{
    m_tables.push_back(std::make_unique<Table>(first_size));
    m_table.store(m_tables.back().get(), std::memory_order_release);
}

RegionIndex::~RegionIndex() = default;

void RegionIndex::copy(Unit &to, const Unit &from) noexcept
{
    to.keys.store(from.keys.load(std::memory_order_relaxed), std::memory_order_release);
    to.handle.store(from.handle.load(std::memory_order_relaxed),
                    std::memory_order_release);
    to.region.store(from.region.load(std::memory_order_relaxed),
                    std::memory_order_release);
    to.key.store(from.key.load(std::memory_order_relaxed), std::memory_order_release);
}

void RegionIndex::store(Table &table, uintptr_t key, const Entry &entry) noexcept
{
    size_t place = key & table.mask;
    while (table.units[place].key.load(std::memory_order_relaxed) != 0) {
        place = (place + 1) & table.mask;
    }
    Unit &unit          = table.units[place];
    const uint64_t keys = (uint64_t{entry.registration.rkey} << 32) |
                          entry.registration.lkey;
    unit.keys.store(keys, std::memory_order_release);
    unit.handle.store(entry.registration.handle, std::memory_order_release);
    unit.region.store(entry.region, std::memory_order_release);
    unit.key.store(key, std::memory_order_release);
}

// Closes the gap, so that no search ends too early.
void RegionIndex::remove(Table &table, uintptr_t key) noexcept
{
    size_t gap = key & table.mask;
    while (table.units[gap].key.load(std::memory_order_relaxed) != key) {
        gap = (gap + 1) & table.mask;
    }
    for (size_t next = (gap + 1) & table.mask;; next = (next + 1) & table.mask) {
        const uintptr_t moved = table.units[next].key.load(std::memory_order_relaxed);
        if (moved == 0) {
            break;
        }
        // It may move only if its own place is not behind the gap.
        if (((next - (moved & table.mask)) & table.mask) >= ((next - gap) & table.mask)) {
            copy(table.units[gap], table.units[next]);
            gap = next;
        }
    }
    table.units[gap].key.store(0, std::memory_order_release);
}

void RegionIndex::grow(size_t units)
{
    const Table &old = *m_tables.back();
    size_t size      = old.mask + 1;
    while ((m_used + units) * 2 > size) {
        size *= 2;
    }
    if (size == old.mask + 1) {
        return;
    }
    m_tables.reserve(m_tables.size() + 1);
    auto table = std::make_unique<Table>(size);
    for (size_t i = 0; i <= old.mask; ++i) {
        const uintptr_t key = old.units[i].key.load(std::memory_order_relaxed);
        if (key != 0) {
            size_t place = key & table->mask;
            while (table->units[place].key.load(std::memory_order_relaxed) != 0) {
                place = (place + 1) & table->mask;
            }
            copy(table->units[place], old.units[i]);
        }
    }
    m_table.store(table.get(), std::memory_order_release);
    m_tables.push_back(std::move(table));
}

void RegionIndex::insert(const void *base, size_t length, const Entry &entry)
{
    const size_t units = length >> unit_shift;
    grow(units);
    m_used += units;

    const uint64_t version = m_version.load(std::memory_order_relaxed);
    m_version.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < units; ++i) {
        store(*m_tables.back(), key_of(base) + i, entry);
    }
    m_version.store(version + 2, std::memory_order_release);
}

void RegionIndex::erase(const void *base, size_t length) noexcept
{
    const size_t units = length >> unit_shift;
    m_used -= units;

    const uint64_t version = m_version.load(std::memory_order_relaxed);
    m_version.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < units; ++i) {
        remove(*m_tables.back(), key_of(base) + i);
    }
    m_version.store(version + 2, std::memory_order_release);
}

RegionIndex::Entry RegionIndex::find(const void *address) const noexcept
{
    const uintptr_t key = key_of(address);
    for (;;) {
        const uint64_t version = m_version.load(std::memory_order_acquire);
        const Table &table     = *m_table.load(std::memory_order_acquire);
        Entry entry;
        for (size_t place = key & table.mask, seen = 0; seen <= table.mask;
             place = (place + 1) & table.mask, ++seen) {
            const Unit &unit        = table.units[place];
            const uintptr_t present = unit.key.load(std::memory_order_acquire);
            if (present == key) {
                const uint64_t keys = unit.keys.load(std::memory_order_acquire);
                entry.registration  = {static_cast<uint32_t>(keys),
                                       static_cast<uint32_t>(keys >> 32),
                                       unit.handle.load(std::memory_order_acquire)};
                entry.region        = unit.region.load(std::memory_order_acquire);
                break;
            }
            if (present == 0) {
                break;
            }
        }
        if (((version & 1) == 0) &&
            (m_version.load(std::memory_order_relaxed) == version)) {
            return entry;
        }
    }
}

} // namespace be::memory
