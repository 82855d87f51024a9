// SPDX-License-Identifier: BSD-3-Clause
//
// The rules of discovery, each with a library and a sysfs made for it.
#include "fake_sysfs.hpp"
#include "mock_library.hpp"

#include "verbs/discovery.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>

using namespace be::verbs;
using namespace be::verbs::test;

namespace {

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// One library answers for both kinds: `soft_table` is it, called soft.
struct Fixture {
    FakeSysfs sysfs;
    MockLibrary library;
    Table soft_table = library.table();
    int soft_loads   = 0;
    int hard_loads   = 0;
    bool have_soft   = true;

    Fixture()
    {
        soft_table.soft = true;
    }

    // A device of the library and, as the kernel has it too, of sysfs.
    MockDevice &add(const std::string &name, std::vector<MockPort> ports)
    {
        sysfs.add_device(name);
        return library.add(name, std::move(ports));
    }

    void add_soft()
    {
        library.add("softrdma0", {active_port(IBV_LINK_LAYER_INFINIBAND)});
    }

    Discovery run(SoftMode mode)
    {
        Sources sources;
        sources.sysfs    = sysfs.root();
        sources.hardware = [this](std::string *) {
            ++hard_loads;
            return &library.table();
        };
        sources.soft = [this](std::string *why) -> const Table * {
            ++soft_loads;
            *why = "libsoftrdma.so: not there";
            return have_soft ? &soft_table : nullptr;
        };
        Discovery result = discover(mode, sources);
        BOOST_TEST(library.lists == 0); // nothing is left open
        BOOST_TEST(library.open == 0);
        for (const PortReport &port : result.ports) {
            BOOST_TEST(!port.reason.empty());
        }
        BOOST_TEST(!result.reason.empty());
        return result;
    }
};

MockPort inactive_port(int link_layer, ibv_port_state state)
{
    MockPort port         = active_port(link_layer);
    port.attributes.state = state;
    return port;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(discovery, Fixture)

BOOST_AUTO_TEST_CASE(no_device_gives_the_software_device)
{
    add_soft();
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 1u);
    const PortReport &port = result.ports[0];
    BOOST_TEST(port.soft);
    BOOST_TEST(port.usable);
    BOOST_TEST(port.device == "softrdma0");
    BOOST_TEST(port.netdev == "lo");
    BOOST_TEST(port.numa_node == -1);
    BOOST_TEST(contains(result.reason, "no RDMA device"));
}

BOOST_AUTO_TEST_CASE(hardware_is_taken_and_the_software_device_not_loaded)
{
    add_soft();
    add("mlx5_0", {active_port(IBV_LINK_LAYER_ETHERNET)});
    sysfs.write("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth2");
    sysfs.write("mlx5_0/device/numa_node", "1");
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 1u);
    const PortReport &port = result.ports[0];
    BOOST_TEST(port.usable);
    BOOST_TEST(!port.soft);
    BOOST_TEST(port.port == 1);
    BOOST_TEST(port.netdev == "eth2");
    BOOST_TEST(port.numa_node == 1);
    BOOST_TEST(port.rate == 12.5e9);
    BOOST_TEST((port.link_layer == LinkLayer::ethernet));
    BOOST_TEST((port.active_mtu == IBV_MTU_4096));
    BOOST_TEST(soft_loads == 0);
}

BOOST_AUTO_TEST_CASE(device_that_is_down_is_not_replaced)
{
    add_soft();
    add("mlx5_0", {inactive_port(IBV_LINK_LAYER_ETHERNET, IBV_PORT_DOWN)});
    sysfs.write("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth2");
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST(!result.any_usable());
    BOOST_TEST(soft_loads == 0);
    BOOST_TEST(contains(result.reason, "mlx5_0:1"));
    BOOST_TEST(contains(result.reason, "down"));
    BOOST_TEST(contains(result.reason, "ip link set dev eth2 up"));
    BOOST_TEST(contains(result.reason, "UCX_BE_SOFT=yes"));
}

BOOST_AUTO_TEST_CASE(one_active_port_of_many_is_enough)
{
    add("mlx5_0", {inactive_port(IBV_LINK_LAYER_INFINIBAND, IBV_PORT_INIT),
                   active_port(IBV_LINK_LAYER_INFINIBAND)});
    add("mlx5_1", {inactive_port(IBV_LINK_LAYER_ETHERNET, IBV_PORT_DOWN)});
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 3u);
    BOOST_TEST(!result.ports[0].usable);
    BOOST_TEST(contains(result.ports[0].reason, "subnet manager"));
    BOOST_TEST(result.ports[1].usable);
    BOOST_TEST(result.ports[1].port == 2);
    BOOST_TEST(!result.ports[2].usable);
}

BOOST_AUTO_TEST_CASE(yes_takes_only_the_software_device)
{
    add_soft();
    add("mlx5_0", {active_port(IBV_LINK_LAYER_ETHERNET)});
    const Discovery result = run(SoftMode::yes);
    BOOST_TEST_REQUIRE(result.ports.size() == 1u);
    BOOST_TEST(result.ports[0].device == "softrdma0");
    BOOST_TEST(hard_loads == 0);
}

BOOST_AUTO_TEST_CASE(no_takes_only_hardware)
{
    add_soft(); // as when it is preloaded over libibverbs
    const Discovery result = run(SoftMode::no);
    BOOST_TEST(result.ports.empty());
    BOOST_TEST(soft_loads == 0);
    BOOST_TEST(contains(result.reason, "no RDMA device"));
    BOOST_TEST(contains(result.reason, "UCX_BE_SOFT=yes"));
}

BOOST_AUTO_TEST_CASE(missing_software_device_is_explained)
{
    have_soft              = false;
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST(result.ports.empty());
    BOOST_TEST(contains(result.reason, "libsoftrdma.so: not there"));
    BOOST_TEST(contains(run(SoftMode::yes).reason, "libsoftrdma.so: not there"));
}

BOOST_AUTO_TEST_CASE(kernel_without_rdma_counts_as_no_device)
{
    library.list_error     = ENOSYS;
    have_soft              = false;
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST(contains(result.reason, "the kernel has no RDMA support loaded"));
}

BOOST_AUTO_TEST_CASE(device_only_the_kernel_knows_is_present)
{
    add_soft();
    sysfs.add_device("mlx5_7");
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 1u);
    BOOST_TEST(result.ports[0].device == "mlx5_7");
    BOOST_TEST(result.ports[0].port == 0);
    BOOST_TEST(!result.any_usable());
    BOOST_TEST(soft_loads == 0);
    BOOST_TEST(contains(result.reason, "/dev/infiniband"));
}

BOOST_AUTO_TEST_CASE(unfit_devices_say_why)
{
    add("iwarp0", {active_port(IBV_LINK_LAYER_ETHERNET)}).transport = IBV_TRANSPORT_IWARP;
    add("nosrq0", {active_port(IBV_LINK_LAYER_ETHERNET)}).attributes.max_srq = 0;
    add("locked0", {active_port(IBV_LINK_LAYER_ETHERNET)}).open_error        = EACCES;
    add("portless0", {});
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 4u);
    BOOST_TEST(!result.any_usable());
    BOOST_TEST(contains(result.ports[0].reason, "iWARP"));
    BOOST_TEST(contains(result.ports[1].reason, "no shared receive queues"));
    BOOST_TEST(contains(result.ports[2].reason, "/dev/infiniband"));
    BOOST_TEST(contains(result.ports[3].reason, "no ports"));
}

BOOST_AUTO_TEST_CASE(failing_queries_become_reasons)
{
    add("mlx5_0", {active_port(IBV_LINK_LAYER_ETHERNET)});
    library.errors["query_port"] = EIO;
    BOOST_TEST(contains(run(SoftMode::no).reason, "state cannot be read"));
    library.errors = {{"query_device", EIO}};
    BOOST_TEST(contains(run(SoftMode::no).reason, "attributes cannot be read"));
}

BOOST_AUTO_TEST_CASE(infiniband_netdev_is_found_by_port)
{
    add("mlx4_0",
        {active_port(IBV_LINK_LAYER_INFINIBAND), active_port(IBV_LINK_LAYER_INFINIBAND)});
    sysfs.write("mlx4_0/device/net/ib0/dev_port", "0");
    sysfs.write("mlx4_0/device/net/ib1/dev_port", "1");
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 2u);
    BOOST_TEST(result.ports[0].netdev == "ib0");
    BOOST_TEST(result.ports[1].netdev == "ib1");
}

BOOST_AUTO_TEST_CASE(without_sysfs_netdev_and_node_are_unknown)
{
    library.add("mlx5_0", {active_port(IBV_LINK_LAYER_INFINIBAND)});
    const Discovery result = run(SoftMode::automatic);
    BOOST_TEST_REQUIRE(result.ports.size() == 1u);
    BOOST_TEST(result.ports[0].usable);
    BOOST_TEST(result.ports[0].netdev.empty());
    BOOST_TEST(result.ports[0].numa_node == -1);
}

BOOST_AUTO_TEST_SUITE_END()
