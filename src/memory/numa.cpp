// SPDX-License-Identifier: BSD-3-Clause
#include "memory/numa.hpp"

#include <hwloc.h>

#include <sched.h>

#include <cerrno>
#include <cstring>

namespace be::memory {
namespace {

// NUMA nodes only: discovery of caches, cores and devices is what makes a topology slow
// to load. Null: none.
hwloc_topology_t load_topology()
{
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) {
        return nullptr;
    }
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return nullptr;
    }
    return topology;
}

} // namespace

int current_node()
{
    unsigned cpu = 0, node = 0;
    return (getcpu(&cpu, &node) == 0) ? static_cast<int>(node) : -1;
}

std::string bind_to_node(void *address, size_t length, int node)
{
    // Never destroyed: memory is also mapped while the process exits. Read-only once
    // loaded, so shared.
    static const hwloc_topology_t topology = load_topology();

    const std::string prefix = "not bound to NUMA node " + std::to_string(node) + ": ";
    if (topology == nullptr) {
        return prefix + "the machine's topology cannot be read";
    }
    const hwloc_obj_t object =
            hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(node));
    if (object == nullptr) {
        return prefix + "there is no such node";
    }
    if (hwloc_set_area_membind(topology, address, length, object->nodeset,
                               HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) != 0) {
        return prefix + strerror(errno);
    }
    return {};
}

} // namespace be::memory
