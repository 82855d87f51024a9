// SPDX-License-Identifier: BSD-3-Clause
//
// Placement of a memory range on a NUMA node, through hwloc.
#pragma once

#include <cstddef>
#include <string>

namespace be::memory {

// Binds pages of the range that are not there yet. Empty: done; else why not (no such
// node, or the system does not let us). Any thread. The first call loads the topology,
// which takes milliseconds and is kept.
std::string bind_to_node(void *address, size_t length, int node);

// Of the calling thread, now; -1: not known.
int current_node();

} // namespace be::memory
