// SPDX-License-Identifier: BSD-3-Clause
//
// What lasts: a link that stays down where nothing goes over TCP, and one recovery after the other. The first is not tried
// all the time, the second leaves no memory behind.

#define BOOST_TEST_MODULE lasting
#include "falling.hpp"

#include "lib/procfs.hpp"
#include "lib/sanitized.hpp"

#include <chrono>

using namespace test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned some           = 300; // recoveries, of four queue pairs each
constexpr std::size_t most_growth = 1u << 20; // bytes

struct Breaking {
    explicit Breaking(Device &device) : a(device, quick(device)), b(device, quick(device))
    {
        to = a.connect(b);
    }

    void recover(unsigned count)
    {
        const uint64_t wanted = a.metric("recoveries") + count;
        auto &peer            = static_cast<be::engine::Link *>(to)->peer;
        while (a.metric("recoveries") < wanted) {
            const uint64_t before = a.metric("recoveries");
            b.received.clear();
            BOOST_REQUIRE(wait({&a, &b}, [&] {
                return be_am_short(to, 1, 0, nullptr, 0) == BE_OK;
            }));
            BOOST_REQUIRE(wait({&a, &b}, [&] { return !b.received.empty(); }));
            (void)peer.messages.qp().to_error();
            BOOST_REQUIRE_EQUAL(be_am_short(to, 1, 0, nullptr, 0), BE_OK);
            BOOST_REQUIRE(
                    wait({&a, &b}, [&] { return a.metric("recoveries") > before; }));
        }
    }

    Node a, b;
    be_peer_t *to;
};

std::size_t resident()
{
    return be::test::footprint(::getpid()).resident;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_link_that_stays_down_is_tried_with_growing_pauses)
{
    Device device;
    be_fabric_config_t config = falling(device);
    config.fallback           = BE_FALLBACK_NONE;
    config.timeout            = 8; // 1 ms
    Falling pair(device, config, 1);
    pair.act(200);
    set_link(false);
    const auto end = Clock::now() + std::chrono::seconds(1);
    BOOST_REQUIRE(pair.act_until([&] { return Clock::now() >= end; }));
    // Pauses of 0.5, 1, 2, ... 250 ms, cut by half at most: 16 for each end, which both ends count.
    BOOST_CHECK_GE(pair.of_both("paths_lost"), 4);
    BOOST_CHECK_LE(pair.of_both("paths_lost"), 80);
    set_link(true);
    pair.settle();
    BOOST_CHECK(pair.ready());
}

BOOST_AUTO_TEST_CASE(recoveries_leave_no_memory_behind)
{
    Device device;
    Breaking pair(device);
    pair.recover(some);
    const std::size_t before = resident();
    pair.recover(3 * some);
    const std::size_t after = resident();
    BOOST_CHECK_MESSAGE(be::test::sanitized || after < before + most_growth,
                        "grew from " << before << " to " << after << " bytes in "
                                     << 3 * some << " recoveries");
}
