// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/topology.hpp"

#include <memory>

#include <hwloc.h>

namespace be::adapter {

namespace {

struct Destroy {
    void operator()(hwloc_topology_t topology) const
    {
        hwloc_topology_destroy(topology);
    }
};

using Topology = std::unique_ptr<hwloc_topology, Destroy>;

// The cores that this process may use: hwloc leaves the others out.
Topology load()
{
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        return nullptr;
    }
    Topology topology(raw);
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING |
                                          HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    return (hwloc_topology_load(raw) == 0) ? std::move(topology) : nullptr;
}

} // namespace

std::string bind_to_core(unsigned index)
{
    // Loading takes milliseconds; a binding made meanwhile must not shrink it.
    static const Topology topology = load();
    const std::string what         = "thread " + std::to_string(index) +
                             " is not bound to a core: ";

    if (topology == nullptr) {
        return what + "hwloc cannot read the topology";
    }
    const int cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
    if (cores <= 0) {
        return what + "hwloc finds no cores";
    }
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE,
                                                   index % static_cast<unsigned>(cores));
    hwloc_bitmap_t set     = hwloc_bitmap_dup(core->cpuset);
    hwloc_bitmap_singlify(set);
    const int status = hwloc_set_cpubind(topology.get(), set, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(set);
    return (status == 0) ? std::string() : what + "the system does not let it";
}

} // namespace be::adapter
