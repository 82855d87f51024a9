// SPDX-License-Identifier: BSD-3-Clause
//
// Deadlines, in made-up time.
#include "adapter/timer_wheel.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <random>

namespace be::adapter {

using namespace std::chrono_literals;

namespace {

struct Probe : Timer {
    Probe() : Timer([](Timer &timer) { static_cast<Probe &>(timer).fired++; })
    {
    }
    unsigned fired = 0;
};

// Odd, so that it is not the begin of a tick.
const Clock::time_point start{1234567890123ns};

} // namespace

BOOST_AUTO_TEST_SUITE(timer_wheel)

BOOST_AUTO_TEST_CASE(fires_once_never_early_and_at_most_two_ticks_late)
{
    for (auto delay :
         {0us, 1us, 999us, 1000us, 1500us, 1023000us, 1024000us, 1025000us, 5000000us}) {
        TimerWheel wheel(start);
        Probe probe;
        wheel.add(probe, start + delay);
        Clock::time_point now = start;
        while (probe.fired == 0) {
            now += 100us;
            wheel.advance(now);
            BOOST_REQUIRE((now < start + delay + 3ms));
        }
        BOOST_TEST((now >= start + delay));
        BOOST_TEST((now <= start + delay + 2100us));
        BOOST_TEST(!probe.set());
        BOOST_TEST(wheel.empty());
        wheel.advance(now + 10s);
        BOOST_TEST(probe.fired == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_pause_of_the_loop_loses_nothing)
{
    TimerWheel wheel(start);
    std::deque<Probe> probes(3000);
    for (size_t i = 0; i < probes.size(); i++) {
        wheel.add(probes[i], start + i * 1ms);
    }
    BOOST_TEST(wheel.advance(start + 1h) == probes.size());
    for (const Probe &probe : probes) {
        BOOST_TEST(probe.fired == 1u);
    }
}

BOOST_AUTO_TEST_CASE(cleared_and_dead_timers_do_not_fire)
{
    TimerWheel wheel(start);
    Probe kept;
    Probe cleared;
    wheel.add(kept, start + 5ms);
    wheel.add(cleared, start + 5ms);
    {
        Probe dead;
        wheel.add(dead, start + 5ms);
    }
    cleared.clear();
    Probe never;
    wheel.add(never, Clock::time_point::max());
    BOOST_TEST(!never.set());
    BOOST_TEST(wheel.advance(start + 1s) == 1u);
    BOOST_TEST(kept.fired == 1u);
    BOOST_TEST(cleared.fired == 0u);
}

BOOST_AUTO_TEST_CASE(a_timer_that_fires_may_clear_its_neighbours_and_set_itself)
{
    struct Chain : Timer {
        Chain(TimerWheel &owner) :
            Timer([](Timer &timer) { static_cast<Chain &>(timer).fire(); }), wheel(owner)
        {
        }
        void fire()
        {
            fired++;
            for (Chain *neighbour : neighbours) {
                neighbour->clear();
            }
            now += 1ms;
            wheel.add(*this, now);
        }
        TimerWheel &wheel;
        std::vector<Chain *> neighbours;
        Clock::time_point now = start + 5ms;
        unsigned fired        = 0;
    };
    TimerWheel wheel(start);
    std::deque<Chain> chains;
    for (unsigned i = 0; i < 3; i++) {
        chains.emplace_back(wheel);
    }
    for (Chain &chain : chains) {
        for (Chain &other : chains) {
            if (&other != &chain) {
                chain.neighbours.push_back(&other);
            }
        }
        wheel.add(chain, start + 5ms);
    }
    for (auto now = start; now < start + 100ms; now += 500us) {
        wheel.advance(now);
    }
    unsigned alive = 0;
    for (Chain &chain : chains) {
        alive += chain.fired > 1;
        BOOST_TEST((chain.fired == 0u || chain.fired > 30u));
    }
    BOOST_TEST(alive == 1u);
}

BOOST_AUTO_TEST_CASE(next_never_sleeps_past_a_deadline)
{
    std::mt19937 random(3);
    for (unsigned round = 0; round < 200; round++) {
        TimerWheel wheel(start);
        std::deque<Probe> probes(5);
        auto first = Clock::time_point::max();
        BOOST_TEST(!wheel.next(start).has_value());
        for (Probe &probe : probes) {
            const auto due = start + std::chrono::microseconds(random() % 3000000);
            first          = std::min(first, due);
            wheel.add(probe, due);
        }
        auto now = start;
        while (wheel.advance(now) == 0) {
            const auto sleep = wheel.next(now);
            BOOST_REQUIRE(sleep.has_value());
            now += std::max<Clock::duration>(*sleep, 1us);
            BOOST_REQUIRE((now <= first + 3ms));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::adapter
