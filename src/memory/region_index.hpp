// SPDX-License-Identifier: BSD-3-Clause
//
// From an address to the region it lies in, and what the device knows that region by.
// Open addressing over units of region_unit bytes, at most half full: one probe as a rule.
//
// Threads: find() may run at any time and never waits for a lock: it reads again when a
// change came in between, and changes are as rare as new regions. insert() and erase():
// one at a time (the arena's lock).
#pragma once

#include "memory/registration.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace be::memory {

class ArenaRegion;

class RegionIndex {
public:
    struct Entry {
        Registration registration;
        ArenaRegion *region = nullptr; // null: none there
    };

    RegionIndex();
    ~RegionIndex();

    // `base` and `length`: multiples of region_unit. May throw std::bad_alloc.
    void insert(const void *base, size_t length, const Entry &entry);
    void erase(const void *base, size_t length) noexcept;

    // Whoever needs the region itself has a block in it, or holds the arena's lock: else
    // it may be gone.
    Entry find(const void *address) const noexcept;

private:
    // The fields of one unit. Atomic because a reader may look while they change; what it
    // read counts only if m_version did not.
    struct Unit {
        std::atomic<uintptr_t> key{0}; // unit number plus 1; 0: free
        std::atomic<uint64_t> keys{0}; // lkey, rkey
        std::atomic<void *> handle{nullptr};
        std::atomic<ArenaRegion *> region{nullptr};
    };
    struct Table {
        explicit Table(size_t size) : units(new Unit[size]), mask(size - 1)
        {
        }
        std::unique_ptr<Unit[]> units;
        size_t mask;
    };

    static void copy(Unit &to, const Unit &from) noexcept;
    static void store(Table &table, uintptr_t key, const Entry &entry) noexcept;
    static void remove(Table &table, uintptr_t key) noexcept;
    void grow(size_t units);

    std::atomic<uint64_t> m_version{0}; // odd while a change is under way
    std::atomic<Table *> m_table;
    // All there ever were, since a reader may still look at an old one. Each is twice as
    // large as the one before.
    std::vector<std::unique_ptr<Table>> m_tables;
    size_t m_used = 0;
};

} // namespace be::memory
