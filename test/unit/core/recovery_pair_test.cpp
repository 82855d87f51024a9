// SPDX-License-Identifier: BSD-3-Clause
//
// Two ends under random faults, many more than the model in test/model can have: everything
// arrives exactly once and in order, and when no fault is left both are ready in the same epoch.
//
// BE_TEST_SCHEDULES sets how many are run; BE_TEST_SEED the first one. A failure names its seed,
// which repeats it.

#include <boost/test/unit_test.hpp>

#include "from_environment.hpp"
#include "recovery_world.hpp"

using namespace be::test;

namespace {

/* Steps until everything is in order; more than most_steps is a failure. */
unsigned run(const RecoveryWorldConfig &config, uint64_t seed, uint64_t &recoveries)
{
    constexpr unsigned most_steps = 200'000;
    RecoveryWorld world(config, seed);
    unsigned steps = 0;

    while (!world.finished() && world.error().empty() && (steps < most_steps)) {
        world.step();
        ++steps;
    }
    BOOST_TEST(world.error() == "", "seed " << seed << ": " << world.error());
    BOOST_TEST(steps < most_steps, "seed " << seed << ": " << world.describe());
    recoveries += world.recovery(0).stats().completed;
    return steps;
}

RecoveryWorldConfig random_config(uint64_t seed)
{
    std::mt19937_64 random(seed);
    RecoveryWorldConfig config;

    config.recovery.backoff          = {.first_ns  = 1 + random() % 1000,
                                        .max_ns    = 1000 + random() % 10'000,
                                        .stable_ns = random() % 20'000};
    config.recovery.device_stable_ns = random() % 20'000;
    config.recovery.timeout_ns       = be::core::Recovery::never;
    config.failures                  = random() % 20;
    config.cuts                      = random() % 10;
    config.losses                    = random() % 8;
    config.first_epoch               = (random() % 2 == 0) ? 0 : 0x7fffffff;
    return config;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recovery_pair)

BOOST_AUTO_TEST_CASE(nothing_is_lost_and_nothing_comes_twice)
{
    uint64_t first      = from_environment("BE_TEST_SEED", 1);
    uint64_t count      = from_environment("BE_TEST_SCHEDULES", 1000);
    uint64_t recoveries = 0;

    for (uint64_t seed = first; seed < first + count; ++seed) {
        run(random_config(seed), seed, recoveries);
    }
    BOOST_TEST(recoveries > count); /* faults met something */
}

BOOST_AUTO_TEST_SUITE_END()
