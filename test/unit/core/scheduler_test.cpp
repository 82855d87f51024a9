// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "core/scheduler.hpp"

using be::core::Scheduler;

namespace {

Scheduler make(uint32_t quantum, uint32_t peers)
{
    Scheduler scheduler(quantum);

    scheduler.resize(peers);
    for (uint32_t peer = 0; peer < peers; ++peer) {
        scheduler.activate(peer);
    }
    return scheduler;
}

/* Serves the peer whose turn it is with `bytes`. */
uint32_t serve(Scheduler &scheduler, uint32_t bytes)
{
    uint32_t peer = scheduler.next()->peer;

    scheduler.charge(peer, bytes);
    return peer;
}

} // namespace

BOOST_AUTO_TEST_SUITE(scheduler)

BOOST_AUTO_TEST_CASE(a_quantum_of_nothing_is_refused)
{
    BOOST_CHECK_THROW(Scheduler(0), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(nobody)
{
    Scheduler scheduler = make(10, 0);

    BOOST_TEST(scheduler.empty());
    BOOST_TEST(!scheduler.next().has_value());
}

BOOST_AUTO_TEST_CASE(round_robin_by_quantum)
{
    Scheduler scheduler = make(10, 3);

    for (uint32_t turn = 0; turn < 9; ++turn) {
        BOOST_TEST((*scheduler.next() == Scheduler::Turn{turn % 3, 10}));
        BOOST_TEST((*scheduler.next() ==
                    Scheduler::Turn{turn % 3, 10})); /* asking is free */
        BOOST_TEST(serve(scheduler, 10) == turn % 3);
    }
}

BOOST_AUTO_TEST_CASE(a_turn_lasts_until_it_is_used_up)
{
    Scheduler scheduler = make(10, 2);

    BOOST_TEST(serve(scheduler, 4) == 0u);
    BOOST_TEST((*scheduler.next() == Scheduler::Turn{0, 6}));
    BOOST_TEST(serve(scheduler, 6) == 0u);
    BOOST_TEST(serve(scheduler, 10) == 1u);
}

BOOST_AUTO_TEST_CASE(more_than_a_turn_is_paid_later)
{
    Scheduler scheduler = make(10, 2);

    BOOST_TEST(serve(scheduler, 35) ==
               0u); /* 25 in debt: two turns are lost, one is cut */
    BOOST_TEST(serve(scheduler, 10) == 1u);
    BOOST_TEST(serve(scheduler, 10) == 1u);
    BOOST_TEST(serve(scheduler, 10) == 1u);
    BOOST_TEST((*scheduler.next() == Scheduler::Turn{0, 5}));
}

BOOST_AUTO_TEST_CASE(stopping_loses_the_rest_and_keeps_the_debt)
{
    Scheduler scheduler = make(10, 2);

    serve(scheduler, 4);
    scheduler.deactivate(0);
    BOOST_TEST(!scheduler.active(0));
    scheduler.activate(0);
    BOOST_TEST(serve(scheduler, 10) == 1u); /* it is at the end of the round again */
    BOOST_TEST((*scheduler.next() == Scheduler::Turn{0, 10}));

    serve(scheduler, 15);
    scheduler.deactivate(0);
    scheduler.activate(0);
    BOOST_TEST(serve(scheduler, 10) == 1u);
    BOOST_TEST((*scheduler.next() == Scheduler::Turn{0, 5}));

    scheduler.reset(0); /* another peer has this index now */
    scheduler.activate(0);
    BOOST_TEST(serve(scheduler, 10) == 1u);
    BOOST_TEST((*scheduler.next() == Scheduler::Turn{0, 10}));
}

BOOST_AUTO_TEST_CASE(activating_again_changes_nothing)
{
    Scheduler scheduler = make(10, 2);

    scheduler.activate(0);
    BOOST_TEST(serve(scheduler, 10) == 0u);
    BOOST_TEST(serve(scheduler, 10) == 1u);
    scheduler.deactivate(1);
    scheduler.deactivate(1);
    BOOST_TEST(serve(scheduler, 10) == 0u);
    scheduler.charge(1, 3); /* a late charge of one that has stopped */
    BOOST_TEST(serve(scheduler, 10) == 0u);
}

/* Shares are equal in bytes whatever the sizes. */
BOOST_AUTO_TEST_CASE(fair_in_bytes)
{
    static constexpr std::array<uint32_t, 4> sizes = {1, 7, 10, 64};
    Scheduler scheduler                            = make(16, 4);
    std::array<uint64_t, 4> sent{};

    for (int i = 0; i < 100000; ++i) {
        uint32_t peer = scheduler.next()->peer;

        scheduler.charge(peer, sizes[peer]);
        sent[peer] += sizes[peer];
    }
    for (uint64_t bytes : sent) {
        BOOST_TEST(bytes + 100 > sent[0]);
        BOOST_TEST(bytes < sent[0] + 100);
    }
}

/* Between any two moments, peers that always have something to send differ by a quantum
 * and a largest piece each at most, whoever else comes and goes. */
BOOST_AUTO_TEST_CASE(shares_differ_by_a_bounded_amount)
{
    constexpr uint32_t quantum = 1000, largest = 3000, peers = 12, steady = 4;
    constexpr int64_t bound = 2 * (int64_t{quantum} + largest);
    std::mt19937_64 random(7);
    Scheduler scheduler(quantum);
    std::vector<int64_t> sent(peers, 0);
    std::vector<int64_t> lead(steady, 0), lag(steady, 0); /* over peer 0, extremes */

    scheduler.resize(peers);
    for (uint32_t peer = 0; peer < steady; ++peer) {
        scheduler.activate(peer);
    }
    for (int i = 0; i < 200'000; ++i) {
        uint32_t other = steady + static_cast<uint32_t>(random() % (peers - steady));
        auto turn      = scheduler.next();

        (random() % 2 == 0) ? scheduler.activate(other) : scheduler.deactivate(other);
        turn = scheduler.next();
        BOOST_REQUIRE(turn.has_value());

        auto bytes = static_cast<uint32_t>(1 + random() % largest);

        scheduler.charge(turn->peer, bytes);
        sent[turn->peer] += bytes;
        for (uint32_t peer = 1; peer < steady; ++peer) {
            lead[peer] = std::max(lead[peer], sent[peer] - sent[0]);
            lag[peer]  = std::min(lag[peer], sent[peer] - sent[0]);
            BOOST_REQUIRE_LE(lead[peer] - lag[peer], bound);
        }
    }
    BOOST_TEST(sent[0] > 10'000'000);
}

BOOST_AUTO_TEST_SUITE_END()
