// SPDX-License-Identifier: BSD-3-Clause
//
// What a heap counts.
#pragma once

#include "memory/arena.hpp"
#include "memory/size_class.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace be::memory {

struct HeapClassStats {
    uint64_t allocations = 0;
    uint64_t frees       = 0;
    uint64_t requested   = 0; // bytes asked for, since the start
};

struct HeapOwnerStats {
    std::string name;
    uint64_t allocations = 0;
    uint64_t frees       = 0;
    uint64_t live        = 0; // bytes in blocks that are out, as rounded
};

struct HeapStats {
    ArenaStats arena; // its `used` includes what the caches hold
    ArenaStats reserve; // what only receive owners get
    size_t live       = 0; // bytes in blocks that are out, as rounded
    size_t cached     = 0; // bytes in the threads' caches
    uint64_t failures = 0; // allocations that got nothing
    // By class; the last: blocks larger than any class, as asked for.
    std::array<HeapClassStats, class_count + 1> classes;
    std::vector<HeapOwnerStats> owners; // by owner number
};

} // namespace be::memory
