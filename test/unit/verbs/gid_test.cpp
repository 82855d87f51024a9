// SPDX-License-Identifier: BSD-3-Clause
#include "fake_sysfs.hpp"
#include "mock_library.hpp"

#include "verbs/error.hpp"
#include "verbs/gid.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>

using namespace be::verbs;
using namespace be::verbs::test;

namespace {

struct Fixture {
    FakeSysfs sysfs;
    MockLibrary library;

    // One device with one port.
    explicit Fixture(int link_layer = IBV_LINK_LAYER_ETHERNET)
    {
        library.add("mlx5_0", {active_port(link_layer)});
        m_device_port = &library.add("other", {active_port(link_layer)}).ports[0];
    }

    // Entry `index` of the table of device "other", as `type` in sysfs.
    void set(int index, const std::string &address, const std::string &type)
    {
        BOOST_REQUIRE(inet_pton(AF_INET6, address.c_str(),
                                m_device_port->gids[static_cast<size_t>(index)].raw) ==
                      1);
        sysfs.write("other/ports/1/gid_attrs/types/" + std::to_string(index), type);
    }

    Gid choose(int requested = -1)
    {
        const Context context(library.table(), "other");
        return choose_gid(context, 1, requested, sysfs.root());
    }

private:
    MockPort *m_device_port;
};

struct InfiniBand : Fixture {
    InfiniBand() : Fixture(IBV_LINK_LAYER_INFINIBAND)
    {
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(gid)

BOOST_FIXTURE_TEST_CASE(v2_with_ipv4_comes_first, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(1, "fe80::1", "RoCE v2");
    set(2, "::ffff:10.0.0.1", "IB/RoCE v1");
    set(3, "2001:db8::1", "RoCE v2");
    set(5, "::ffff:10.0.0.1", "RoCE v2");
    set(7, "::ffff:10.0.0.2", "RoCE v2");
    const Gid gid = choose();
    BOOST_TEST(gid.index == 5);
    BOOST_TEST(gid.is_ipv4_mapped());
    BOOST_TEST(gid.type == "RoCE v2");
    BOOST_TEST(gid.to_string() == "::ffff:10.0.0.1");
}

BOOST_FIXTURE_TEST_CASE(routable_v2_comes_before_link_local, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(1, "fe80::1", "RoCE v2");
    set(4, "2001:db8::1", "RoCE v2");
    BOOST_TEST(choose().index == 4);
}

BOOST_FIXTURE_TEST_CASE(any_v2_comes_before_v1, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(1, "fe80::1", "RoCE v2");
    BOOST_TEST(choose().index == 1);
}

BOOST_FIXTURE_TEST_CASE(without_v2_the_first_is_taken, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(1, "::ffff:10.0.0.1", "IB/RoCE v1");
    BOOST_TEST(choose().index == 0);
}

BOOST_FIXTURE_TEST_CASE(entries_that_are_typed_but_empty_are_skipped, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(1, "::", "RoCE v2");
    BOOST_TEST(choose().index == 0);
}

BOOST_FIXTURE_TEST_CASE(infiniband_takes_the_first, InfiniBand)
{
    set(0, "fe80::2:c903:1:2", "IB/RoCE v1");
    set(1, "::ffff:10.0.0.1", "RoCE v2");
    BOOST_TEST(choose().index == 0);
}

BOOST_FIXTURE_TEST_CASE(requested_index_is_taken_or_refused_with_a_reason, Fixture)
{
    set(0, "fe80::1", "IB/RoCE v1");
    set(2, "fe80::2", "RoCE v2");
    BOOST_TEST(choose(2).index == 2);
    BOOST_TEST(choose(2).to_string() == "fe80::2");
    const auto mentions = [](const std::string &part) {
        return [part](const Error &error) {
            return std::string(error.what()).find(part) != std::string::npos;
        };
    };
    BOOST_CHECK_EXCEPTION(choose(3), Error, mentions("empty"));
    BOOST_CHECK_EXCEPTION(choose(16), Error, mentions("0 to 15"));
    BOOST_CHECK_EXCEPTION(choose(16), Error, mentions("other"));
}

BOOST_AUTO_TEST_SUITE_END()
