// SPDX-License-Identifier: BSD-3-Clause
//
// Joining, floors, growth and shares.

#include "pool_fixture.hpp"

#include <string>

using namespace be::core;
using namespace be::test;

namespace {

/* share_cap equal to the floor leaves floors and requests only. */
ReceivePoolConfig floors_only(uint32_t capacity, uint32_t max_capacity)
{
    return {.capacity     = capacity,
            .max_capacity = max_capacity,
            .floor        = 2,
            .share_cap    = 2};
}

std::string refusal(const ReceivePoolConfig &config)
{
    try {
        ReceivePool pool(config);
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_SUITE(receive_pool)

BOOST_AUTO_TEST_CASE(bad_configurations_name_field_and_value)
{
    BOOST_TEST(refusal({.capacity = 0, .max_capacity = 8}).find("capacity is 0") !=
               std::string::npos);
    BOOST_TEST(refusal({.capacity = 1u << 25, .max_capacity = 1u << 25}) ==
               "receive pool capacity is 33554432, expected 1 to 16777216 receives");
    BOOST_TEST(refusal({.capacity = 8, .max_capacity = 7}).find("max_capacity is 7") !=
               std::string::npos);
    BOOST_TEST(
            refusal({.capacity = 8, .max_capacity = 1u << 25}).find("max_capacity is") !=
            std::string::npos);
    BOOST_TEST(refusal({.floor = 4}).find("floor is 4") != std::string::npos);
    BOOST_TEST(refusal({.quantum = 0}).find("quantum is 0") != std::string::npos);
    BOOST_TEST(refusal({.floor = 2, .share_cap = 1}).find("share_cap is 1") !=
               std::string::npos);
    BOOST_TEST(refusal({.max_peers = 0}).find("max_peers is 0") != std::string::npos);
    BOOST_TEST(refusal({}) == "accepted");
}

BOOST_AUTO_TEST_CASE(peers_are_dense_and_used_again)
{
    ReceivePoolConfig config = floors_only(64, 64);

    config.max_peers = 3;
    Pool pool(config);

    BOOST_TEST(pool.join() == 0u);
    BOOST_TEST(pool.join() == 1u);
    BOOST_TEST(pool.join() == 2u);
    BOOST_TEST(!pool.pool.join().has_value());
    pool.leave(1);
    BOOST_TEST(!pool.pool.member(1));
    BOOST_TEST(pool.join() == 1u);
    pool.leave(7); /* never was */
    BOOST_TEST(!pool.pool.member(7));
}

/* Two while floors are below a quarter of the capacity, then one, within half. */
BOOST_AUTO_TEST_CASE(floors_shrink_as_peers_come)
{
    Pool pool(floors_only(16, 16));
    std::vector<uint32_t> floors;

    for (int i = 0; i < 8; ++i) {
        uint32_t peer = pool.join();

        floors.push_back(pool.pool.floor(peer));
        BOOST_TEST(pool.pool.granted(peer) == floors.back());
    }
    BOOST_TEST(floors == (Peers{2, 2, 1, 1, 1, 1, 0, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(pool.pool.take_growth() == 0u); /* max_capacity is reached */
    BOOST_TEST(pool.pool.outstanding() == 8u);
}

BOOST_AUTO_TEST_CASE(growth_is_one_receive_a_peer)
{
    Pool pool(floors_only(4, 6));

    pool.join();
    BOOST_TEST(pool.pool.floor(0) == 2u);
    for (uint32_t expected : {1u, 1u, 0u}) {
        uint32_t peer = pool.join();

        BOOST_TEST(pool.pool.take_growth() == expected);
        BOOST_TEST(pool.pool.granted(peer) == 0u);
        pool.repost(expected); /* posted: the floor follows */
        BOOST_TEST(pool.pool.granted(peer) == expected);
        BOOST_TEST(pool.pool.floor(peer) == expected);
    }
    BOOST_TEST(pool.pool.capacity() == 6u);
    BOOST_TEST(pool.pool.posted() == 6u);
}

/* Growth that the driver cannot post costs the peer its floor, and nobody else. */
BOOST_AUTO_TEST_CASE(growth_that_never_comes)
{
    Pool pool(floors_only(4, 8));

    pool.join();
    uint32_t late = pool.join();

    BOOST_TEST(pool.pool.take_growth() == 1u);
    BOOST_TEST(pool.pool.take_growth() == 0u); /* asked once */
    BOOST_TEST(pool.pool.capacity() == 5u);
    BOOST_TEST(pool.pool.posted() == 4u);
    pool.request(late, 3);
    BOOST_TEST(pool.answers() == Peers{late}, boost::test_tools::per_element());
    BOOST_TEST(pool.left(late) == 2u); /* all but the floor of the other */
}

/* A receive that is posted again is not taken for growth. */
BOOST_AUTO_TEST_CASE(reposts_before_growth)
{
    Pool pool(floors_only(4, 8));

    pool.join();
    pool.arrive(0);
    uint32_t late = pool.join();

    BOOST_TEST(pool.pool.take_growth() == 1u);
    pool.repost(1);
    BOOST_TEST(pool.pool.floor(late) == 0u);
    BOOST_TEST(pool.pool.capacity() == 5u);
    pool.repost(1);
    BOOST_TEST(pool.pool.floor(late) == 1u);
    BOOST_TEST(pool.pool.capacity() == 5u);
}

BOOST_AUTO_TEST_CASE(a_floor_that_is_given_up_goes_to_the_next)
{
    Pool pool(floors_only(4, 4));

    pool.join();
    uint32_t without = pool.join();

    BOOST_TEST(pool.pool.floor(without) == 0u);
    pool.leave(0);
    BOOST_TEST(pool.pool.floor(without) == 2u);
    BOOST_TEST(pool.pool.granted(without) == 2u);
}

BOOST_AUTO_TEST_CASE(a_floor_of_none_asks_for_no_growth)
{
    Pool pool({.capacity = 4, .max_capacity = 64, .floor = 0, .share_cap = 0});

    BOOST_TEST(pool.pool.floor(pool.join()) == 0u);
    BOOST_TEST(pool.pool.take_growth() == 0u);
}

BOOST_AUTO_TEST_CASE(the_floor_comes_back_as_receives_are_posted)
{
    Pool pool(floors_only(4, 4));
    uint32_t peer = pool.join();

    pool.arrive(peer,
                2); /* the other two receives are free: the floor is restored at once */
    BOOST_TEST(pool.left(peer) == 2u);
    pool.arrive(peer, 2);
    BOOST_TEST(pool.left(peer) == 0u);
    pool.repost();
    BOOST_TEST(pool.left(peer) == 1u);
    pool.repost(3);
    BOOST_TEST(pool.left(peer) == 2u);
}

BOOST_AUTO_TEST_CASE(more_than_was_granted)
{
    Pool pool(floors_only(4, 4));
    uint32_t peer = pool.join();

    pool.arrive(peer, 4);
    pool.pool.on_repost(1);
    pool.arrive(peer);
    BOOST_TEST(!pool.pool.on_arrival(peer)); /* nothing posted even */
    BOOST_TEST(pool.pool.posted() == 0u);
    pool.check();

    Pool other(floors_only(8, 8));

    BOOST_TEST(!other.pool.on_arrival(0)); /* nobody */
    BOOST_TEST(other.pool.posted() == 7u);
    other.repost(1);
    BOOST_TEST(other.pool.posted() == 8u);
    BOOST_TEST(other.pool.capacity() == 8u);
}

BOOST_AUTO_TEST_CASE(leaving_returns_everything)
{
    Pool pool(floors_only(8, 8));
    uint32_t gone = pool.join(), stays = pool.join();

    pool.request(gone, 100);
    BOOST_TEST(pool.left(gone) == 7u);
    pool.request(stays, 100);
    BOOST_TEST(pool.pool.waiting(stays));
    pool.leave(gone);
    BOOST_TEST(!pool.pool.waiting(stays));
    BOOST_TEST(pool.left(stays) == 8u);
    BOOST_TEST(pool.answers() == Peers{stays}, boost::test_tools::per_element());
    BOOST_TEST(pool.pool.granted(pool.join()) == 0u); /* starts afresh; nothing is free */
}

BOOST_AUTO_TEST_CASE(active_peers_get_a_share)
{
    Pool pool({.capacity = 64, .max_capacity = 64, .floor = 2, .share_cap = 20});
    uint32_t first = pool.join(), second = pool.join(), third = pool.join();

    BOOST_TEST(pool.pool.active_peers() == 0u);
    pool.arrive(first);
    BOOST_TEST(pool.pool.active_peers() == 1u);
    BOOST_TEST(pool.pool.share() == 20u); /* the cap; half the capacity would be 32 */
    BOOST_TEST(pool.left(first) == 20u);
    pool.arrive(second);
    BOOST_TEST(pool.pool.share() == 16u);
    BOOST_TEST(pool.left(second) == 16u);
    BOOST_TEST(pool.left(third) == 2u); /* idle: its floor */

    /* All shares beyond floors stay within half the initial capacity. */
    pool.arrive(third);
    BOOST_TEST(pool.pool.share() == 10u);
    BOOST_TEST(pool.left(third) == 2u);
    pool.arrive(first, 12); /* it has 20 and uses up what is beyond its share */
    pool.repost(14);
    BOOST_TEST(pool.left(third) >= 9u);
}

BOOST_AUTO_TEST_CASE(activity_ends_after_two_periods)
{
    Pool pool({.capacity = 64, .max_capacity = 64});
    uint32_t first = pool.join(), second = pool.join();

    pool.arrive(first);
    pool.pool.new_period();
    pool.arrive(second);
    BOOST_TEST(pool.pool.active_peers() == 2u);
    pool.pool.new_period();
    BOOST_TEST(pool.pool.active_peers() == 1u);
    pool.arrive(second);
    BOOST_TEST(pool.pool.active_peers() == 1u);
    pool.leave(second);
    BOOST_TEST(pool.pool.active_peers() == 0u);
    pool.arrive(first);
    pool.pool.new_period();
    pool.leave(first);
    BOOST_TEST(pool.pool.active_peers() == 0u);
}

/* A peer that was short of its share and has gone quiet is not topped up any more. */
BOOST_AUTO_TEST_CASE(a_share_is_for_the_active)
{
    Pool pool({.capacity = 16, .max_capacity = 16, .floor = 2, .share_cap = 8});
    uint32_t quiet = pool.join(), busy = pool.join();

    pool.request(busy, 12);
    BOOST_TEST(pool.answers().size() == 1u);
    pool.arrive(quiet);
    BOOST_TEST(pool.left(quiet) < 8u);
    uint32_t before = pool.left(quiet);

    pool.pool.new_period();
    pool.pool.new_period();
    pool.arrive(busy, 4);
    pool.repost(5);
    BOOST_TEST(pool.left(quiet) == std::max(before, 2u));
}

BOOST_AUTO_TEST_CASE(totals_start_anywhere_and_wrap)
{
    ReceivePoolConfig config = floors_only(8, 8);

    config.first_total = 0xfffffffd;
    Pool pool(config);
    uint32_t peer = pool.join();

    BOOST_TEST(pool.pool.granted(peer) == 0xffffffffu);
    for (int i = 0; i < 10; ++i) {
        pool.arrive(peer);
        pool.repost();
    }
    BOOST_TEST(pool.pool.arrived(peer) == 7u);
    pool.request(peer, 5);
    BOOST_TEST(pool.pool.granted(peer) == 14u);
}

BOOST_AUTO_TEST_SUITE_END()
