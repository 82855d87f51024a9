// SPDX-License-Identifier: BSD-3-Clause
//
// What the memory group (cgroup, version 1 or 2) of this process has left. Memory that is
// registered is touched as a whole, and the kernel answers a touch above the limit by
// killing: so one looks before.
//
// Threads: any. Reads a few small files each time, since limits change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace be::memory {

struct GroupRoom {
    size_t left  = SIZE_MAX; // bytes that may still be taken; SIZE_MAX: there is no limit
    size_t limit = SIZE_MAX; // bytes
    std::string folder; // of the group whose limit that is
};

// The least of the group and those it is part of. Memory that only holds copies of files
// counts as free. `proc`: where this process's "cgroup" and "mountinfo" are.
GroupRoom memory_group_room(const std::string &proc = "/proc/self");

// Empty, or why `length` bytes are not to be taken for regions: an eighth of the limit is
// left to the rest of the process.
std::string beyond_group(size_t length, const GroupRoom &room);

} // namespace be::memory
