// SPDX-License-Identifier: BSD-3-Clause
//
// What a heap does in debug mode: every block lies between red zones, and stays for a while
// after it was freed, filled with a pattern. Found and reported with the owner's name: a
// write in front of or behind a block, a block freed twice, a write after free, a free of
// what was never allocated or with another size or owner than it was.
//
// What a device writes past a block is found as well, when the block is freed or by
// check().
#pragma once

#include "memory/heap.hpp"

#include <deque>
#include <map>

namespace be::memory {

class Heap::Debug {
public:
    using Report = std::function<void(const std::string &message)>;

    Debug(ForkMutex &mutex, Arena &arena, Report report);
    ~Debug();

    void add_owner(std::string_view name);

    // May throw std::bad_alloc.
    // `length`: as the heap counts it.
    void *
    allocate(size_t size, size_t align, size_t length, unsigned owner, std::string *why);

    // The length that was counted; 0: nothing was freed. `size` 0: not known.
    size_t free(void *address, size_t size, unsigned owner) noexcept;

    void check() noexcept;

    // Looks at what was freed, and gives its memory back.
    void release_all() noexcept;

private:
    struct Record {
        Block block;
        size_t size    = 0;
        size_t length  = 0;
        unsigned owner = 0;
        bool freed     = false;
        bool blamed    = false; // reported once
    };
    using Records = std::map<uintptr_t, Record>; // by address

    // All with the mutex held.
    std::string describe(const Records::value_type &entry) const;
    void examine(Records::value_type &entry, std::string &found) const;
    bool release_oldest(std::string &found);

    void report(const std::string &found) const noexcept;

    ForkMutex &m_mutex;
    Arena &m_arena;
    Report m_report;
    std::vector<std::string> m_owners;
    Records m_records;
    std::deque<uintptr_t> m_freed; // oldest first
    size_t m_freed_bytes = 0;
};

} // namespace be::memory
