// SPDX-License-Identifier: BSD-3-Clause
//
// No RDMA between two fabrics for a while: what they send each other goes on over the side channel, and back again. Each
// message arrives once and in order, each put is written once, each operation completes well.
//
// BE_TEST_SEED sets the first seed, BE_TEST_SEEDS how many there are.

#define BOOST_TEST_MODULE fallback
#include "falling.hpp"

using namespace test;

namespace {

void run(
        const char *what, const std::function<void(be_fabric_config_t &)> &change,
        const std::function<void(Falling &)> &meanwhile = [](Falling &) {})
{
    if (std::getenv("BE_TEST_LOG") != nullptr) {
        be_log_set(nullptr, BE_LOG_DEBUG);
    }
    const uint64_t first = from_environment("BE_TEST_SEED", 1);
    const uint64_t seeds = from_environment("BE_TEST_SEEDS", 4);
    Device device;
    be_fabric_config_t config = falling(device);
    change(config);
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
        BOOST_TEST_CONTEXT(what << ", BE_TEST_SEED=" << seed)
        {
            Falling pair(device, config, seed);
            for (unsigned round = 0; round < 3; ++round) {
                pair.act(200);
                pair.fall();
                pair.act(100);
                meanwhile(pair);
                pair.act(300);
                if (pair.random() % 2 == 0) {
                    pair.settle(); // all of it over TCP
                    pair.act(100);
                }
                pair.rise();
                pair.act(200);
                pair.settle();
            }
            BOOST_CHECK_EQUAL(pair.of_both("fallbacks"), 6);
            BOOST_CHECK_EQUAL(pair.of_both("fallback_returns"), 6);
            BOOST_CHECK_EQUAL(pair.of_both("rnr"), 0);
            BOOST_CHECK_EQUAL(pair.of_both("messages_dropped"), 0);
            BOOST_CHECK_EQUAL(pair.of_both("queue_pairs"), 4);
            for (Node *node : {&pair.a.node, &pair.b.node}) {
                BOOST_CHECK(wait({&pair.a.node, &pair.b.node}, [&] {
                    return node->metric("credit_posted") ==
                           node->metric("credit_capacity");
                }));
            }
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(everything_goes_on_over_tcp_and_back)
{
    run("usual queues", [](be_fabric_config_t &) {});
}

BOOST_AUTO_TEST_CASE(likewise_with_small_queues)
{
    run("small queues", small_queues);
}

BOOST_AUTO_TEST_CASE(likewise_with_byte_credit)
{
    run("byte credit", with_byte_credit);
}

BOOST_AUTO_TEST_CASE(likewise_where_nothing_goes_inline)
{
    run("no inline", [](be_fabric_config_t &config) { config.max_inline = 0; });
}

BOOST_AUTO_TEST_CASE(likewise_when_the_side_channel_is_cut)
{
    run(
            "channel cut", [](be_fabric_config_t &) {},
            [](Falling &pair) {
                for (unsigned i = 0; i < 5; ++i) {
                    pair.cut();
                    pair.act(50);
                    BOOST_REQUIRE(pair.act_until(
                            [&] { return over_tcp(pair.a) && over_tcp(pair.b); }));
                }
            });
}

// Queue pairs, the link and the side channel, whenever it suits nobody.
BOOST_AUTO_TEST_CASE(likewise_when_everything_fails_in_any_order)
{
    const uint64_t first = from_environment("BE_TEST_SEED", 1);
    const uint64_t seeds = from_environment("BE_TEST_SEEDS", 4);
    Device device;
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
        be_fabric_config_t config = falling(device);
        config.fallback_time      = 0.005;
        if (seed % 2 == 0) {
            config.rx_capacity = 8;
            config.rx_max      = 32;
            config.tx_queue    = 16;
        }
        if (seed % 3 == 0) {
            config.byte_budget = 64 << 10;
            config.link_rate   = 1e9;
        }
        BOOST_TEST_CONTEXT("BE_TEST_SEED=" << seed)
        {
            Falling pair(device, config, seed);
            for (unsigned event = 0; event < 60; ++event) {
                pair.act(static_cast<unsigned>(pair.random() % 100));
                switch (pair.random() % 6) {
                case 0:
                    set_link(pair.random() % 2 == 0);
                    break;
                case 1:
                    pair.cut();
                    break;
                case 2:
                    // In the middle of what the last event has led to.
                    BOOST_REQUIRE(pair.act_until([&] {
                        return pair.a.engine_peer().recovery.state() !=
                                       be::core::RecoveryState::ready ||
                               pair.random() % 100 == 0;
                    }));
                    break;
                default:
                    pair.fault();
                    break;
                }
                if (event % 20 == 19) {
                    pair.settle();
                }
            }
            pair.rise();
            pair.settle();
            BOOST_CHECK_EQUAL(pair.of_both("rnr"), 0);
            BOOST_CHECK_EQUAL(pair.of_both("messages_dropped"), 0);
        }
    }
}
