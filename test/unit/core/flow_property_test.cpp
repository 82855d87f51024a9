// SPDX-License-Identifier: BSD-3-Clause
//
// Random schedules over small pools: whatever the order of events, no arrival meets an
// empty queue, invariants hold, and everything that was not cancelled is delivered in
// order.
//
// BE_TEST_SCHEDULES sets how many are run; BE_TEST_SEED the first one. A failure names
// its seed, which repeats it.

#include <boost/test/unit_test.hpp>

#include "from_environment.hpp"
#include "network.hpp"

using namespace be;
using namespace be::test;

namespace {

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
    config.pool.revoke      = random() % 2 == 0;
    return config;
}

/* Small enough to be short always, and for every total to wrap often. The unit, and what
 * follows from it, is the same on both ends. */
void add_bytes(std::mt19937_64 &random, core::FlowConfig &config, uint32_t unit,
               uint32_t quantum, uint32_t first_total)
{
    core::BytePoolConfig &bytes = config.bytes;

    bytes.unit        = unit;
    bytes.quantum     = quantum;
    bytes.run         = quantum * (1 + random() % 8);
    bytes.bonus       = static_cast<uint32_t>(random() % (4 * quantum));
    bytes.late        = quantum * (1 + random() % 4);
    bytes.least_bonus = 1;
    bytes.loop_ns     = 1 + random() % 1'000'000;
    bytes.unit_ps     = 1 + random() % 1'000'000'000;
    bytes.active_ns   = random() % 2'000'000;
    bytes.suspect_ns  = 1'000'000 + random() % 1'000'000'000;
    bytes.first_total = first_total;

    config.window.quantum = unit * quantum;
    config.window.port    = config.window.quantum * (2 + random() % 4);
    config.window.peer    = config.window.port;
    config.small_message  = 8;
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
    schedule.replaced      = random() % 4;
    schedule.refuse_growth = random() % 4 == 0;
    schedule.both_ways     = random() % 2 == 0;
    schedule.actions       = 1 + random() % 4;
    schedule.hub           = random_config(random, start);
    schedule.leaf          = random_config(random, start);
    if (random() % 2 == 0) {
        static constexpr uint32_t units[] = {1, 16, 256};
        uint32_t unit                     = units[random() % std::size(units)];
        uint32_t quantum = std::max<uint32_t>(1 + random() % 8, (unit == 1) ? 10 : 1);

        schedule.bulk    = random() % 5;
        schedule.large   = random() % 5;
        schedule.largest = unit * quantum;
        add_bytes(random, schedule.hub, unit, quantum, start);
        add_bytes(random, schedule.leaf, unit, quantum, start);
    }
    return schedule;
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow_property)

BOOST_AUTO_TEST_CASE(random_schedules_deliver_everything)
{
    uint64_t first = from_environment("BE_TEST_SEED", 1);
    uint64_t count = from_environment("BE_TEST_SCHEDULES", 20'000);
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
