// SPDX-License-Identifier: BSD-3-Clause
//
// Rule 7: what is called back, and what is not.

#include "pool_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

Peers revokes(Pool &pool)
{
    Peers peers;

    for (uint32_t peer = pool.pool.next_revoke(); peer != ReceivePool::none;
         peer          = pool.pool.next_revoke()) {
        peers.push_back(peer);
    }
    return peers;
}

/* All that a peer holds goes to those that asked for it. */
ReceivePoolConfig all_asked()
{
    return {.capacity     = 4,
            .max_capacity = 4,
            .floor        = 0,
            .quantum      = 4,
            .share_cap    = 0,
            .revoke       = true};
}

} // namespace

BOOST_AUTO_TEST_SUITE(receive_pool_revoke)

BOOST_AUTO_TEST_CASE(what_stands_idle_is)
{
    Pool pool({.capacity     = 16,
               .max_capacity = 16,
               .floor        = 2,
               .share_cap    = 8,
               .revoke       = true});
    uint32_t idle = pool.join(), busy = pool.join();

    BOOST_TEST(pool.left(idle) > 2u);
    pool.pool.new_period();
    pool.pool.new_period();
    pool.request(busy, 16);
    BOOST_TEST(pool.answers() == Peers{busy}, boost::test_tools::per_element());
    pool.request(busy, 16);
    BOOST_TEST(pool.pool.waiting(busy));
    BOOST_TEST(revokes(pool) == Peers{idle}, boost::test_tools::per_element());
    BOOST_TEST(pool.pool.kept(idle) == 2u);
}

/* Whoever has been answered is to send: else everybody's credit is called back for the
 * next who waits, and nobody ever does. */
BOOST_AUTO_TEST_CASE(what_was_asked_for_is_not)
{
    Pool pool(all_asked());
    Peers peers;

    for (int i = 0; i < 12; ++i) {
        peers.push_back(pool.join());
    }
    for (uint32_t peer : peers) {
        pool.request(peer, 1);
    }
    BOOST_TEST(pool.answers().size() == 4u);
    BOOST_TEST(revokes(pool).empty());
    for (uint32_t peer : peers) {
        BOOST_TEST(pool.left(peer) == 1u);
        pool.arrive(peer);
        pool.repost();
        BOOST_TEST(revokes(pool).empty());
    }
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_and_left_lying_is)
{
    Pool pool(all_asked());
    uint32_t lazy = pool.join(), other = pool.join();

    pool.request(lazy, 4);
    pool.request(other, 1);
    BOOST_TEST(pool.pool.waiting(other));
    pool.pool.new_period();
    BOOST_TEST(revokes(pool).empty());
    pool.pool.new_period();
    BOOST_TEST(revokes(pool) == Peers{lazy}, boost::test_tools::per_element());
    BOOST_TEST(pool.pool.kept(lazy) == 0u);

    /* It has a use for it now: it is left alone for as long once more. */
    BOOST_TEST(pool.pool.on_returned(lazy, 0));
    pool.check();
    BOOST_TEST(revokes(pool).empty());
    pool.pool.new_period();
    BOOST_TEST(revokes(pool).empty());
    pool.pool.new_period();
    BOOST_TEST(revokes(pool) == Peers{lazy}, boost::test_tools::per_element());
    BOOST_TEST(pool.pool.on_returned(lazy, 4));
    pool.check();
    BOOST_TEST(pool.left(other) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
