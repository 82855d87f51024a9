// SPDX-License-Identifier: BSD-3-Clause
#include "memory/numa.hpp"

#include "memory/region.hpp"

#include <hwloc.h>

#include <cerrno>
#include <cstring>

namespace be::memory {
namespace {

// NUMA nodes and processors only: discovery of caches, cores and devices is what makes a
// topology slow to load. Null: none.
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

const NumaTopology &NumaTopology::machine()
{
    // Never destroyed: memory is also mapped while the process exits.
    static const auto *const topology = new NumaTopology(load_topology());
    return *topology;
}

NumaTopology::NumaTopology(hwloc_topology *loaded) noexcept : m_topology(loaded)
{
}

NumaTopology::~NumaTopology()
{
    if (m_topology != nullptr) {
        hwloc_topology_destroy(m_topology);
    }
}

int NumaTopology::node_of(int cpu) const noexcept
{
    if ((m_topology == nullptr) || (cpu < 0)) {
        return none;
    }
    const hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(m_topology,
                                                            static_cast<unsigned>(cpu));
    // The first one: ordinary memory comes before other kinds that may be as near.
    return (object != nullptr) ? hwloc_bitmap_first(object->nodeset) : none;
}

int NumaTopology::choose(int wish, int cpu) const noexcept
{
    if (wish == RegionOptions::thread_node) {
        return node_of(cpu);
    }
    return (wish >= 0) ? wish : none;
}

std::string NumaTopology::bind(void *address, size_t length, int node) const
{
    if (node < 0) {
        return {};
    }
    const std::string prefix = "not bound to NUMA node " + std::to_string(node) + ": ";
    if (m_topology == nullptr) {
        return prefix + "the machine's topology cannot be read";
    }
    const hwloc_obj_t object =
            hwloc_get_numanode_obj_by_os_index(m_topology, static_cast<unsigned>(node));
    if (object == nullptr) {
        return prefix + "there is no such node";
    }
    // hwloc would do nothing, and say that it was done.
    if (!hwloc_topology_is_thissystem(m_topology)) {
        return prefix + "hwloc was given the topology of another machine "
                        "(HWLOC_THISSYSTEM=1 says that it is this one's)";
    }
    if (hwloc_set_area_membind(m_topology, address, length, object->nodeset,
                               HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) != 0) {
        return prefix + strerror(errno);
    }
    return {};
}

} // namespace be::memory
