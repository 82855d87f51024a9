// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs fail under two fabrics that send each other everything there is, at random moments and on either side:
// each message arrives once and in order, each put is written once, each operation completes well.
//
// BE_TEST_SEED sets the seed, BE_TEST_FAULTS how many faults there are. A failure names its seed.

#define BOOST_TEST_MODULE recovery
#include "pair.hpp"

using namespace test;

namespace {

void run(const char *what, const std::function<void(be_fabric_config_t &)> &change)
{
    const uint64_t seed = from_environment("BE_TEST_SEED", 1);
    if (std::getenv("BE_TEST_LOG") != nullptr) {
        be_log_set(nullptr, BE_LOG_DEBUG);
    }
    Device device;
    be_fabric_config_t config = quick(device);
    change(config);
    BOOST_TEST_CONTEXT(what << ", BE_TEST_SEED=" << seed)
    {
        Pair pair(device, config, seed);
        pair.run(static_cast<unsigned>(from_environment("BE_TEST_FAULTS", 200)));
        BOOST_CHECK_GT(pair.a.node.metric("recoveries"), 0);
        BOOST_CHECK_EQUAL(pair.a.node.metric("rnr") + pair.b.node.metric("rnr"), 0);
        for (Node *node : {&pair.a.node, &pair.b.node}) {
            BOOST_CHECK_EQUAL(node->metric("messages_dropped"), 0);
            BOOST_CHECK_EQUAL(node->metric("queue_pairs"), 2);
            BOOST_CHECK(wait({&pair.a.node, &pair.b.node}, [&] {
                return node->metric("credit_posted") == node->metric("credit_capacity");
            }));
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(everything_arrives_once_and_in_order)
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
