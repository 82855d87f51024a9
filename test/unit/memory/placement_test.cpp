// SPDX-License-Identifier: BSD-3-Clause
//
// On which NUMA node memory lies. The choice is tested on machines that hwloc makes up, the
// result of it on this one, by what its kernel reports.
#include "memory/numa.hpp"
#include "memory/region.hpp"
#include "memory/region_system.hpp"

#include "mapping.hpp"

#include <boost/test/unit_test.hpp>

#include <hwloc.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

using namespace be::memory;

namespace {

// Two nodes of four processors each, the second with processors 4 to 7.
constexpr const char *two_nodes = "pack:2 [numa] core:2 pu:2";

hwloc_topology_t synthetic(const char *description, unsigned long flags = 0)
{
    hwloc_topology_t topology;
    BOOST_REQUIRE(hwloc_topology_init(&topology) == 0);
    BOOST_REQUIRE(hwloc_topology_set_synthetic(topology, description) == 0);
    hwloc_topology_set_flags(topology, flags);
    BOOST_REQUIRE(hwloc_topology_load(topology) == 0);
    return topology;
}

// The same, written as XML and read again: how hwloc hands machines on.
hwloc_topology_t from_xml(hwloc_topology_t from)
{
    char *xml;
    int length;
    BOOST_REQUIRE(hwloc_topology_export_xmlbuffer(from, &xml, &length, 0) == 0);
    hwloc_topology_t topology;
    BOOST_REQUIRE(hwloc_topology_init(&topology) == 0);
    BOOST_REQUIRE(hwloc_topology_set_xmlbuffer(topology, xml, length) == 0);
    BOOST_REQUIRE(hwloc_topology_load(topology) == 0);
    hwloc_free_xmlbuffer(from, xml);
    hwloc_topology_destroy(from);
    return topology;
}

// A made-up machine whose threads run on a processor of the test's choice, and which
// remembers what it was asked to bind.
class MadeUp : public RegionSystem {
public:
    explicit MadeUp(hwloc_topology_t its_topology) : topology(its_topology)
    {
    }

    std::string bind(void *data, size_t length, int wish) override
    {
        bound        = topology.choose(wish, cpu);
        bound_length = length;
        return topology.bind(data, length, bound);
    }

    NumaTopology topology;
    int cpu             = 0;
    int bound           = NumaTopology::none;
    size_t bound_length = 0;
};

// Nodes with memory and processors of this machine, and the first processor of each.
struct Node {
    int node;
    int cpu;
};

std::vector<Node> nodes_here()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    BOOST_REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
    std::vector<Node> nodes;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        // The kernel says which node it is, hwloc is what is tested.
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        unsigned here, node;
        if (!CPU_ISSET(cpu, &allowed) || (sched_setaffinity(0, sizeof(one), &one) != 0) ||
            (getcpu(&here, &node) != 0)) {
            continue;
        }
        if (nodes.empty() || (nodes.back().node != static_cast<int>(node))) {
            nodes.push_back({static_cast<int>(node), cpu});
        }
    }
    BOOST_REQUIRE(sched_setaffinity(0, sizeof(allowed), &allowed) == 0);
    return nodes;
}

// Pages of the region that lie on that node, of those that are looked at: all of them.
// -1: the kernel does not say, errno tells why.
long pages_on(const Region &region, int node, size_t *count)
{
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<void *> pages;
    for (size_t offset = 0; offset < region.length(); offset += page) {
        pages.push_back(static_cast<char *>(region.data()) + offset);
    }
    std::vector<int> where(pages.size(), -1);
    *count = pages.size();
    if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, where.data(),
                0) != 0) {
        return -1;
    }
    return std::count(where.begin(), where.end(), node);
}

void check_placement(int wish, int node)
{
    for (const bool huge : {false, true}) {
        RegionOptions options;
        options.numa_node   = wish;
        options.huge_pages  = huge;
        const Region region = Region::map(region_unit, options);
        memset(region.data(), 1, region.length());
        const bool refused = region.note().find("not bound") != std::string::npos;
        BOOST_TEST_CONTEXT("node " << node << ", " << to_string(region.pages()) << ", "
                                   << region.note())
        {
            size_t all;
            const long there = pages_on(region, node, &all);
            const int error  = errno;
            if (there < 0) {
                // A kernel without NUMA, or a container that may not ask: then nothing
                // could be bound either, which the region must have said.
                BOOST_TEST((error == ENOSYS || error == EPERM));
                BOOST_TEST(refused);
                continue;
            }
            if (!refused) {
                BOOST_TEST(there == static_cast<long>(all));
                const std::string policy = kernel_policy(region.data());
                BOOST_TEST((policy.empty() ||
                            policy.ends_with(":" + std::to_string(node))),
                           "the kernel says " << policy);
            }
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(placement)

BOOST_AUTO_TEST_CASE(threads_get_the_node_of_their_processor)
{
    for (const bool xml : {false, true}) {
        const hwloc_topology_t made = synthetic(two_nodes);
        const NumaTopology topology(xml ? from_xml(made) : made);
        for (int cpu = 0; cpu < 8; ++cpu) {
            BOOST_TEST(topology.choose(RegionOptions::thread_node, cpu) == cpu / 4);
        }
        BOOST_TEST(topology.choose(RegionOptions::thread_node, 8) == NumaTopology::none);
        BOOST_TEST(topology.choose(RegionOptions::thread_node, -1) == NumaTopology::none);
    }
}

// Nodes are called by the system's numbers, which need not be in order.
BOOST_AUTO_TEST_CASE(nodes_have_the_numbers_of_the_system)
{
    const NumaTopology topology(
            synthetic("pack:2 [numa(indexes=3,1)] pu:2(indexes=0,2,1,3)"));
    BOOST_TEST(topology.choose(RegionOptions::thread_node, 0) == 3);
    BOOST_TEST(topology.choose(RegionOptions::thread_node, 1) == 1);
    BOOST_TEST(topology.choose(RegionOptions::thread_node, 2) == 3);
    BOOST_TEST(topology.choose(RegionOptions::thread_node, 3) == 1);
    char byte;
    BOOST_TEST(topology.bind(&byte, 1, 0).find("node 0: there is no such node") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(regions_of_a_device_lie_on_its_node_wherever_the_thread_runs)
{
    MadeUp machine(synthetic(two_nodes));
    RegionOptions options;
    for (machine.cpu = 0; machine.cpu < 8; machine.cpu += 4) {
        for (int node = 0; node < 2; ++node) {
            options.numa_node   = node;
            const Region region = Region::map(1, options, machine);
            BOOST_TEST(machine.bound == node);
            BOOST_TEST(machine.bound_length == region_unit);
            // It is another machine's: nothing was bound, and that is said.
            BOOST_TEST(region.note().find("node " + std::to_string(node) +
                                          ": hwloc was given") != std::string::npos);
        }
        options.numa_node = RegionOptions::thread_node;
        const Region own  = Region::map(1, options, machine);
        BOOST_TEST(machine.bound == machine.cpu / 4);
        options.numa_node  = RegionOptions::any_node;
        const Region other = Region::map(1, options, machine);
        BOOST_TEST(machine.bound == NumaTopology::none);
        BOOST_TEST(other.note().find("node") == std::string::npos);
    }
}

// Two nodes said to be of this machine, which has one at least: what the kernel makes of
// it is what the region says.
BOOST_AUTO_TEST_CASE(what_the_kernel_refuses_is_noted_and_survived)
{
    MadeUp machine(synthetic(two_nodes, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM));
    for (int node = 0; node < 2; ++node) {
        RegionOptions options;
        options.huge_pages  = false;
        options.numa_node   = node;
        const Region region = Region::map(1, options, machine);
        memset(region.data(), 1, region.length());
        const std::string policy = kernel_policy(region.data());
        BOOST_TEST(policy.ends_with(":" + std::to_string(node)) == region.note().empty(),
                   "the kernel says '" << policy << "', the region '" << region.note()
                                       << "'");
        size_t all;
        const long there = pages_on(region, node, &all);
        BOOST_TEST((region.note().empty() ? there == static_cast<long>(all) :
                                            region.note().find("not bound") == 0u),
                   there << " of " << all << " pages are on node " << node);
    }
}

BOOST_AUTO_TEST_CASE(unknown_node_is_noted_and_survived)
{
    RegionOptions options;
    options.numa_node   = 4095;
    options.huge_pages  = false;
    const Region region = Region::map(region_unit, options);
    BOOST_TEST(region.note().find("node 4095: there is no such node") !=
               std::string::npos);
    memset(region.data(), 1, region.length());
}

BOOST_AUTO_TEST_CASE(unreadable_topology_is_noted)
{
    const NumaTopology topology(nullptr);
    char byte;
    BOOST_TEST(topology.choose(RegionOptions::thread_node, 0) == NumaTopology::none);
    BOOST_TEST(topology.bind(&byte, 1, 0).find("cannot be read") != std::string::npos);
    BOOST_TEST(topology.bind(&byte, 1, NumaTopology::none).empty());
}

// Every node of this machine, one at least, by number and by thread.
BOOST_AUTO_TEST_CASE(pages_lie_where_the_kernel_says)
{
    const std::vector<Node> nodes = nodes_here();
    BOOST_TEST_REQUIRE(!nodes.empty());
    cpu_set_t before;
    BOOST_REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
    for (const Node &here : nodes) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(here.cpu, &one);
        BOOST_REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
        check_placement(RegionOptions::thread_node, here.node);
        for (const Node &device : nodes) {
            check_placement(device.node, device.node);
        }
    }
    BOOST_REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
