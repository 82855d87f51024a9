// SPDX-License-Identifier: BSD-3-Clause
//
// Requests: quanta, waiting in order, and that nobody starves.

#include "pool_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

ReceivePoolConfig requests_only(uint32_t capacity, uint32_t quantum)
{
    return {.capacity     = capacity,
            .max_capacity = capacity,
            .floor        = 0,
            .quantum      = quantum,
            .share_cap    = 0};
}

} // namespace

BOOST_AUTO_TEST_SUITE(receive_pool_request)

BOOST_AUTO_TEST_CASE(a_quantum_at_a_time)
{
    Pool pool(requests_only(16, 4));
    uint32_t peer = pool.join();

    pool.request(peer, 10);
    BOOST_TEST(pool.left(peer) == 4u);
    BOOST_TEST(!pool.pool.waiting(peer)); /* answered: it asks again for the rest */
    BOOST_TEST(pool.answers() == Peers{peer}, boost::test_tools::per_element());
    BOOST_TEST(pool.answers().empty());
    pool.request(peer, 3);
    BOOST_TEST(pool.left(peer) == 7u);
}

BOOST_AUTO_TEST_CASE(no_more_than_asked)
{
    Pool pool(requests_only(16, 8));
    uint32_t peer = pool.join();

    pool.request(peer, 3);
    BOOST_TEST(pool.left(peer) == 3u);
}

/* The demand crossed a grant: it is met already, and answered with what is known. */
BOOST_AUTO_TEST_CASE(a_demand_that_is_met_is_answered)
{
    Pool pool({.capacity = 16, .max_capacity = 16, .floor = 2, .share_cap = 2});
    uint32_t peer = pool.join();

    pool.pool.on_request(peer, pool.pool.granted(peer) - 1);
    pool.check();
    BOOST_TEST(pool.left(peer) == 2u);
    BOOST_TEST(pool.answers() == Peers{peer}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(strangers_are_ignored)
{
    Pool pool(requests_only(16, 8));

    pool.pool.on_request(5, 3);
    pool.check();
    BOOST_TEST(!pool.pool.has_output());
}

BOOST_AUTO_TEST_CASE(waiting_is_in_order_and_answered_once)
{
    Pool pool(requests_only(4, 4));
    uint32_t a = pool.join(), b = pool.join(), c = pool.join();

    pool.request(a, 4);
    pool.request(b, 2);
    pool.request(c, 2);
    pool.pool.on_request(b, pool.pool.granted(b) + 3); /* again, more: one answer */
    BOOST_TEST(pool.answers() == Peers{a}, boost::test_tools::per_element());
    pool.arrive(a, 4);
    pool.request(a, 1); /* behind the others */
    pool.repost(1);
    BOOST_TEST(pool.answers() == Peers{b}, boost::test_tools::per_element());
    BOOST_TEST(pool.left(b) == 1u);
    pool.repost(3);
    BOOST_TEST(pool.answers() == (Peers{c, a}), boost::test_tools::per_element());
    BOOST_TEST(pool.left(c) == 2u);
    BOOST_TEST(pool.left(a) == 1u);
}

/* A second request before the answer of the first was collected: one answer for both. */
BOOST_AUTO_TEST_CASE(an_uncollected_answer_serves_both)
{
    Pool pool(requests_only(8, 2));
    uint32_t peer = pool.join();

    pool.request(peer, 2);
    pool.request(peer, 2);
    BOOST_TEST(pool.left(peer) == 2u);
    BOOST_TEST(pool.answers().size() == 1u);
    pool.request(peer, 2);
    BOOST_TEST(pool.left(peer) == 4u);
}

/* Requests leave alone what is reserved for the floors of others. */
BOOST_AUTO_TEST_CASE(floors_stay_backed)
{
    Pool pool({.capacity = 16, .max_capacity = 16, .floor = 2, .share_cap = 2});
    uint32_t greedy = pool.join(), small = pool.join();

    pool.arrive(small, 1);
    pool.request(greedy, 100);
    BOOST_TEST(pool.left(greedy) ==
               13u); /* one receive is in hand, two belong to the other */
    pool.answers();
    pool.arrive(small, 2);
    BOOST_TEST(pool.left(small) == 0u);
    pool.request(greedy, 100);
    pool.repost(2);
    BOOST_TEST(pool.left(small) == 2u); /* though the greedy one waits */
    BOOST_TEST(pool.pool.waiting(greedy));
}

/* A floor that reaches the demand answers it, without waiting for the turn. */
BOOST_AUTO_TEST_CASE(a_floor_can_answer)
{
    Pool pool({.capacity = 4, .max_capacity = 4, .floor = 2, .share_cap = 2});
    uint32_t peer = pool.join(), other = pool.join();

    pool.request(other, 2);
    pool.arrive(peer, 2);
    BOOST_TEST(pool.left(peer) == 0u);
    BOOST_TEST(pool.answers() == Peers{other}, boost::test_tools::per_element());
    pool.request(other, 2); /* is first */
    pool.request(peer, 1);
    BOOST_TEST(pool.answers().empty());
    pool.repost();
    BOOST_TEST(pool.answers() == Peers{peer}, boost::test_tools::per_element());
    BOOST_TEST(pool.pool.waiting(other));
}

/* Only one receive is ever in hand and the peer with a floor is quick: the one without a
 * floor gets its turn all the same. */
BOOST_AUTO_TEST_CASE(floors_do_not_starve_requests)
{
    Pool pool({.capacity = 2, .max_capacity = 2, .floor = 1, .share_cap = 1});
    uint32_t quick = pool.join(), patient = pool.join();

    BOOST_TEST(pool.pool.floor(quick) == 1u);
    BOOST_TEST(pool.pool.floor(patient) == 0u);
    pool.request(patient, 1);
    pool.arrive(quick);
    pool.arrive(patient); /* both receives are in hand */
    pool.answers();
    pool.request(patient, 100);

    int turns = 0;

    while (pool.pool.waiting(patient)) {
        BOOST_REQUIRE(turns++ < 3);
        pool.repost(1);
        if (pool.left(quick) != 0) {
            pool.arrive(quick);
        }
    }
    BOOST_TEST(pool.left(patient) == 1u);
}

/* Nor do peers that keep joining, whose floors come from the same receives. */
BOOST_AUTO_TEST_CASE(newcomers_do_not_starve_requests)
{
    Pool pool({.capacity = 8, .max_capacity = 8, .floor = 1, .share_cap = 1});
    uint32_t holder = pool.join(), patient = pool.join();

    pool.request(holder, 5);
    pool.request(patient, 3); /* takes what is left: nothing is free now */
    BOOST_TEST(pool.answers() == (Peers{holder, patient}),
               boost::test_tools::per_element());
    BOOST_TEST(pool.pool.outstanding() == 8u);
    pool.request(patient, 1);
    BOOST_TEST(pool.pool.waiting(patient));
    pool.arrive(holder, 1); /* leaves something beyond the floors that exist */
    uint32_t late = pool.join();

    BOOST_TEST(pool.pool.floor(late) == 0u);
    pool.repost(1);
    BOOST_TEST(pool.answers() == Peers{patient}, boost::test_tools::per_element());
}

/* Peers that hold what stands to them and stay idle for ever cannot stop anybody. */
BOOST_AUTO_TEST_CASE(idle_holders_leave_room)
{
    for (uint32_t capacity : {1u, 2u, 3u, 8u, 33u, 64u}) {
        Pool pool({.capacity     = capacity,
                   .max_capacity = capacity + 4,
                   .floor        = 2,
                   .quantum      = 64,
                   .share_cap    = 512});

        for (int i = 0; i < 12; ++i) {
            uint32_t idle = pool.join();

            pool.repost(pool.pool.take_growth());
            pool.request(idle, 1);
            BOOST_REQUIRE(pool.answers() == Peers{idle});

            /* It uses what it asked for and keeps what stands. */
            for (uint32_t use = pool.left(idle); use != 0; --use) {
                pool.arrive(idle);
                pool.repost();
            }
        }

        uint32_t last = pool.join();

        for (int i = 0; i < 50; ++i) {
            pool.request(last, 10);
            BOOST_REQUIRE(pool.answers().size() == 1u);
            pool.arrive(last, pool.left(last));
            pool.repost(pool.pool.capacity() - pool.pool.posted());
            pool.pool.take_growth();
        }
    }
}

/* Everybody always asks for a lot: all get the same, to within a quantum. */
BOOST_AUTO_TEST_CASE(fair_among_requesters)
{
    Pool pool(requests_only(32, 4));
    std::vector<uint32_t> served(20);

    for (std::size_t i = 0; i < served.size(); ++i) {
        pool.request(pool.join(), 1000);
    }
    for (int i = 0; i < 5000; ++i) {
        for (uint32_t peer : pool.answers()) {
            uint32_t count = pool.left(peer);

            pool.arrive(peer, count);
            served[peer] += count;
            pool.request(peer, 1000);
        }
        pool.repost(3);
        if (pool.pool.posted() > 28) {
            break;
        }
    }

    auto [least, most] = std::minmax_element(served.begin(), served.end());

    BOOST_TEST(*least > 100u);
    BOOST_TEST(*most - *least <= 8u);
}

BOOST_AUTO_TEST_CASE(ten_thousand_peers)
{
    ReceivePool pool({});
    uint32_t growth = 0;

    for (int i = 0; i < 10000; ++i) {
        BOOST_REQUIRE(pool.join().has_value());
        uint32_t more = pool.take_growth();

        growth += more;
        pool.on_repost(more);
    }
    BOOST_TEST(pool.check() == "");
    BOOST_TEST(pool.posted() == 8192u);
    BOOST_TEST(growth == 4096u);
    BOOST_TEST(pool.floor(0) == 2u);
    BOOST_TEST(pool.floor(600) == 1u);
    BOOST_TEST(pool.floor(9999) == 0u);

    /* The last one works all the same. */
    pool.on_request(9999, pool.granted(9999) + 100);
    BOOST_TEST(pool.next_answer() == 9999u);
    BOOST_TEST(pool.granted(9999) == 64u);
    BOOST_TEST(pool.check() == "");
}

BOOST_AUTO_TEST_SUITE_END()
