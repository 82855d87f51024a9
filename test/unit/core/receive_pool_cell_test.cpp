// SPDX-License-Identifier: BSD-3-Clause
//
// When a peer is told its total by a cell.

#include "pool_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

constexpr ReceivePoolConfig shares = {.capacity     = 64,
                                      .max_capacity = 64,
                                      .floor        = 2,
                                      .share_cap    = 16};

} // namespace

BOOST_AUTO_TEST_SUITE(receive_pool_cell)

BOOST_AUTO_TEST_CASE(not_when_the_peer_knows)
{
    Pool pool(shares);
    uint32_t peer = pool.join();

    pool.pool.told(peer);
    BOOST_TEST(!pool.pool.cell_due(peer));
    BOOST_TEST(pool.cells().empty());
    BOOST_TEST(!pool.pool.has_output());
}

BOOST_AUTO_TEST_CASE(half_a_share_unknown)
{
    Pool pool(shares);
    uint32_t peer = pool.join();

    pool.pool.told(peer);
    pool.arrive(peer); /* its share is granted */
    BOOST_TEST(pool.pool.cell_due(peer));
    BOOST_TEST(pool.cells() == Peers{peer}, boost::test_tools::per_element());
    BOOST_TEST(pool.cells().empty()); /* once */
    BOOST_TEST(pool.pool.cell_asked(peer));
    pool.pool.told(peer);
    BOOST_TEST(!pool.pool.cell_asked(peer));

    for (int i = 0; i < 7; ++i) { /* topped up one by one: 7 unknown */
        pool.arrive(peer);
        pool.repost();
        BOOST_TEST(!pool.pool.cell_due(peer));
    }
    pool.arrive(peer);
    BOOST_TEST(pool.cells() == Peers{peer}, boost::test_tools::per_element());
}

/* Traffic in both directions needs no cells: each header tells the total. */
BOOST_AUTO_TEST_CASE(headers_make_cells_needless)
{
    Pool pool({.capacity = 64, .max_capacity = 64, .floor = 2, .share_cap = 2});
    uint32_t peer = pool.join();

    pool.pool.told(peer);
    for (int i = 0; i < 100; ++i) {
        pool.arrive(peer);
        pool.repost();
        BOOST_TEST(pool.cells().empty());
        pool.pool.told(peer); /* the reply */
    }
}

BOOST_AUTO_TEST_CASE(a_small_share_is_told_when_it_runs_out)
{
    Pool pool({.capacity = 64, .max_capacity = 64, .floor = 2, .share_cap = 2});
    uint32_t peer = pool.join();

    pool.pool.told(peer);
    pool.arrive(peer);
    BOOST_TEST(!pool.pool.cell_due(peer)); /* it knows of one more */
    pool.arrive(peer);
    BOOST_TEST(pool.cells() == Peers{peer}, boost::test_tools::per_element());
}

/* Nothing can be granted at its last message, but something was before and is not known. */
BOOST_AUTO_TEST_CASE(running_out_is_reason_enough)
{
    Pool pool({.capacity = 4, .max_capacity = 4, .floor = 2, .share_cap = 2});
    uint32_t peer = pool.join(), other = pool.join();

    pool.pool.told(peer);
    pool.request(other, 1);
    pool.answers();
    pool.arrive(peer);
    BOOST_TEST(pool.left(peer) == 2u);
    BOOST_TEST(pool.cells().empty());
    pool.arrive(peer);
    BOOST_TEST(pool.left(peer) == 1u);
    BOOST_TEST(pool.cells() == Peers{peer}, boost::test_tools::per_element());
}

/* The grant comes long after the arrival, when a receive is posted. */
BOOST_AUTO_TEST_CASE(a_late_grant_is_told)
{
    Pool pool({.capacity = 2, .max_capacity = 2, .floor = 0, .share_cap = 1});
    uint32_t peer = pool.join();

    pool.request(peer, 2);
    pool.pool.told(peer);
    BOOST_TEST(pool.answers().size() == 1u);
    pool.arrive(peer, 2);
    BOOST_TEST(pool.cells().empty()); /* nothing to tell */
    pool.repost();
    BOOST_TEST(pool.left(peer) == 1u);
    BOOST_TEST(pool.cells() == Peers{peer}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_header_in_between_takes_it_back)
{
    Pool pool(shares);
    uint32_t peer = pool.join();

    pool.arrive(peer);
    pool.pool.told(peer);
    BOOST_TEST(pool.cells().empty());
}

BOOST_AUTO_TEST_CASE(an_answer_makes_the_cell_needless)
{
    Pool pool(shares);
    uint32_t peer = pool.join();

    pool.pool.told(peer);
    pool.request(peer, 20);
    BOOST_TEST(pool.pool.cell_due(peer));
    BOOST_TEST(pool.answers() == Peers{peer}, boost::test_tools::per_element());
    BOOST_TEST(pool.cells().empty());
}

BOOST_AUTO_TEST_CASE(told_an_earlier_total)
{
    Pool pool(shares);
    uint32_t peer  = pool.join();
    uint32_t early = pool.pool.granted(peer);

    pool.arrive(peer);
    BOOST_TEST(pool.cells().size() == 1u);
    pool.pool.told(peer, early); /* still half a share behind: another cell */
    BOOST_TEST(pool.cells().size() == 1u);
    pool.pool.told(peer, pool.pool.granted(peer) + 1); /* never granted: not believed */
    BOOST_TEST(pool.cells().size() == 1u);
    pool.pool.told(peer, pool.pool.granted(peer));
    BOOST_TEST(pool.cells().empty());
    pool.check();
}

/* A share that grows makes a cell less urgent; one that was handed out stays to be
 * written, or the peer would never be told again. */
BOOST_AUTO_TEST_CASE(an_asked_cell_stays_asked)
{
    Pool pool({.capacity = 64, .max_capacity = 64, .floor = 2, .share_cap = 32});
    std::vector<uint32_t> peers;

    for (int i = 0; i < 4; ++i) {
        peers.push_back(pool.join());
        pool.pool.told(peers.back());
    }
    for (uint32_t peer : peers) {
        pool.arrive(peer);
    }
    for (uint32_t peer : pool.cells()) {
        BOOST_TEST(pool.pool.cell_asked(peer));
    }
    pool.pool.new_period();
    pool.pool.new_period();
    pool.arrive(peers[0]);
    BOOST_TEST(pool.pool.share() == 32u);
    BOOST_TEST(pool.pool.cell_asked(peers[0]));
}

BOOST_AUTO_TEST_SUITE_END()
