// SPDX-License-Identifier: BSD-3-Clause
//
// Which NUMA node memory is to lie on, and binding it there, through hwloc.
//
// Threads: any; a topology does not change once it is made.
#pragma once

#include <cstddef>
#include <string>

struct hwloc_topology;

namespace be::memory {

class NumaTopology {
public:
    static constexpr int none = -1; // no node, or not known

    // This machine's, or what HWLOC_XMLFILE or HWLOC_SYNTHETIC put in its place. The first
    // call loads it, which takes milliseconds.
    static const NumaTopology &machine();

    // `loaded` becomes its own; null: one that cannot be read.
    explicit NumaTopology(hwloc_topology *loaded) noexcept;
    ~NumaTopology();
    NumaTopology(const NumaTopology &)            = delete;
    NumaTopology &operator=(const NumaTopology &) = delete;

    // The OS index of the node for RegionOptions::numa_node, in a thread that runs on the
    // processor `cpu` (its OS index); or `none`.
    int choose(int wish, int cpu) const noexcept;

    // Binds pages of the range that are not there yet. Empty: done, or `node` is `none`;
    // else why not: there is no such node, or the system does not let us.
    std::string bind(void *address, size_t length, int node) const;

private:
    int node_of(int cpu) const noexcept;

    hwloc_topology *m_topology;
};

} // namespace be::memory
