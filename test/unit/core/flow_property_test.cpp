// SPDX-License-Identifier: BSD-3-Clause
//
// Random schedules over small pools: whatever the order of events, no arrival meets an
// empty queue, invariants hold, and everything that was not cancelled is delivered in
// order.
//
// BE_TEST_SCHEDULES sets how many are run; BE_TEST_SEED the first one. A failure names
// its seed, which repeats it.

#include <boost/test/unit_test.hpp>

#include <cstdlib>

#include "network.hpp"

using namespace be;
using namespace be::test;

namespace {

uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = std::getenv(name);

    return (text == nullptr) ? otherwise : std::strtoull(text, nullptr, 0);
}

core::FlowConfig random_config(std::mt19937_64 &random, uint32_t first_total)
{
    static constexpr uint32_t capacities[] = {1, 2, 2, 2, 3, 4, 8, 16, 64};
    static constexpr uint32_t quanta[]     = {1, 2, 4, 64};
    static constexpr uint32_t caps[]       = {3, 4, 16, 512};
    core::FlowConfig config;

    config.pool.capacity     = capacities[random() % std::size(capacities)];
    config.pool.max_capacity = config.pool.capacity +
                               static_cast<uint32_t>(random() % 4) * 8;
    config.pool.floor       = static_cast<uint32_t>(random() % 4);
    config.pool.quantum     = quanta[random() % std::size(quanta)];
    config.pool.share_cap   = caps[random() % std::size(caps)];
    config.pool.first_total = first_total;
    return config;
}

Schedule random_schedule(uint64_t seed)
{
    static constexpr uint32_t starts[] = {0, 0xfffffff0u, (1u << 28) - 10, 0x7ffffff8u,
                                          0xeffffff8u};
    std::mt19937_64 random(~seed);
    uint32_t size  = static_cast<uint32_t>(random() % 100);
    uint32_t start = starts[random() % std::size(starts)];
    Schedule schedule;

    schedule.seed          = seed;
    schedule.leaves        = (size < 85) ? 1 + random() % 4 :
                             (size < 98) ? 5 + random() % 12 :
                                           17 + random() % 48;
    schedule.rounds        = 1 + random() % 4;
    schedule.burst         = 1 + random() % 12;
    schedule.cancels       = random() % 3;
    schedule.leaves_lost   = random() % 3;
    schedule.refuse_growth = random() % 4 == 0;
    schedule.both_ways     = random() % 2 == 0;
    schedule.actions       = 1 + random() % 4;
    schedule.hub           = random_config(random, start);
    schedule.leaf          = random_config(random, start);
    return schedule;
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow_property)

BOOST_AUTO_TEST_CASE(random_schedules_deliver_everything)
{
    uint64_t first = from_environment("BE_TEST_SEED", 1);
    uint64_t count = from_environment("BE_TEST_SCHEDULES", 100'000);
    uint64_t total = 0;

    for (uint64_t seed = first; seed < first + count; ++seed) {
        try {
            Network network(random_schedule(seed));

            network.run();
            total += network.delivered();
        } catch (const Violation &violation) {
            BOOST_FAIL("BE_TEST_SEED=" << seed << ": " << violation.what());
        }
    }
    BOOST_TEST_MESSAGE(total << " messages delivered in " << count << " schedules");
    BOOST_TEST(total > count);
}

BOOST_AUTO_TEST_SUITE_END()
