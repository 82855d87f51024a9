// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool_index.hpp"

#include <utility>

namespace be::memory {

void PoolIndex::insert(const void *base, size_t length, uint32_t chunk)
{
    const size_t slots = length >> m_slot_shift;
    size_t size        = m_table.size();
    while ((m_used + slots) * 2 > size) {
        size *= 2;
    }
    if (size != m_table.size()) {
        const std::vector<Entry> old = std::exchange(m_table, std::vector<Entry>(size));
        for (const Entry &entry : old) {
            if (entry.chunk != none) {
                store(entry);
            }
        }
    }

    m_used += slots;
    for (size_t i = 0; i < slots; ++i) {
        store({key_of(base) + i, chunk});
    }
}

void PoolIndex::store(const Entry &entry)
{
    size_t position = place(entry.key);
    while (m_table[position].chunk != none) {
        position = (position + 1) & (m_table.size() - 1);
    }
    m_table[position] = entry;
}

} // namespace be::memory
