// SPDX-License-Identifier: BSD-3-Clause
//
// From an address to the chunk of a pool it lies in: open addressing over slots of a
// fixed, power-of-two size that chunks are made of and aligned to. Looking up costs one
// probe as a rule; at most half of the table is in use.
//
// Threads: the pool's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace be::memory {

class PoolIndex {
public:
    static constexpr uint32_t none = UINT32_MAX;

    // Slots have 2^slot_shift bytes.
    explicit PoolIndex(unsigned slot_shift) : m_slot_shift(slot_shift), m_table(4)
    {
    }

    // `base` and `length` are multiples of the slot size.
    void insert(const void *base, size_t length, uint32_t chunk);

    // The chunk number; none: no chunk covers `address`.
    uint32_t find(const void *address) const noexcept
    {
        const uintptr_t key = key_of(address);
        size_t position     = place(key);
        while (m_table[position].chunk != none) {
            if (m_table[position].key == key) {
                return m_table[position].chunk;
            }
            position = (position + 1) & (m_table.size() - 1);
        }
        return none;
    }

private:
    struct Entry {
        uintptr_t key  = 0;
        uint32_t chunk = none;
    };

    uintptr_t key_of(const void *address) const noexcept
    {
        return reinterpret_cast<uintptr_t>(address) >> m_slot_shift;
    }

    // Neighbouring slots have neighbouring places: keys of a chunk rarely collide.
    size_t place(uintptr_t key) const noexcept
    {
        return key & (m_table.size() - 1);
    }

    void store(const Entry &entry);

    unsigned m_slot_shift;
    size_t m_used = 0;
    std::vector<Entry> m_table; // a power of two
};

} // namespace be::memory
