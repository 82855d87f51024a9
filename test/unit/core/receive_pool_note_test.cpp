// SPDX-License-Identifier: BSD-3-Clause
//
// Arrivals that are only counted: what they change, when it is looked after, and that
// nobody waits for it.

#include "pool_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

struct Noting : Pool {
    explicit Noting(const ReceivePoolConfig &config) : Pool(config)
    {
    }

    /* As a driver does it; how many of `count` were only noted. */
    uint32_t take(uint32_t peer, uint32_t count)
    {
        uint32_t noted = 0;

        for (; count != 0; --count) {
            bool light = pool.note_arrival(peer);

            noted += light;
            BOOST_REQUIRE(light || pool.on_arrival(peer));
            check();
        }
        return noted;
    }
};

constexpr ReceivePoolConfig settings = {.capacity     = 1024,
                                        .max_capacity = 1024,
                                        .share_cap    = 512};

} // namespace

BOOST_AUTO_TEST_SUITE(receive_pool_note)

BOOST_AUTO_TEST_CASE(most_arrivals_only_count)
{
    Noting pool(settings);
    uint32_t peer = pool.join();

    pool.take(peer, 2); /* until it is active and has its share */
    pool.repost(2);
    for (uint32_t i = 0; i < 650; ++i) {
        pool.take(peer, 1);
        pool.repost(1);
    }
    BOOST_TEST(pool.pool.arrived(peer) == 652u);
    BOOST_TEST(pool.take(peer, 65) == 64u);
    BOOST_TEST(pool.pool.posted() == 1024u - 65);
    BOOST_TEST(pool.pool.outstanding() == pool.left(peer));
}

/* The sender hears of new credit before it runs out of what it knows. */
BOOST_AUTO_TEST_CASE(the_cell_is_in_time)
{
    Noting pool(settings);
    uint32_t peer = pool.join();

    pool.take(peer, 2);
    pool.repost(2);
    pool.pool.told(peer);
    (void)pool.cells();

    uint32_t known = pool.pool.granted(peer);
    uint32_t cells = 0;

    for (uint32_t i = 0; i < 5000; ++i) {
        BOOST_REQUIRE_GT(known - pool.pool.arrived(peer), 0u);
        pool.take(peer, 1);
        pool.repost(1);
        if (!pool.cells().empty()) {
            known = pool.pool.granted(peer);
            pool.pool.told(peer);
            ++cells;
        }
    }
    BOOST_TEST(cells >= 5000 / 512);
    BOOST_TEST(cells <= 5000 / 128);
}

/* Who asks gets what those that were only noted have set free. */
BOOST_AUTO_TEST_CASE(a_request_finds_what_was_noted)
{
    Noting pool({.capacity = 64, .max_capacity = 64, .floor = 1, .share_cap = 32});
    uint32_t busy = pool.join(), other = pool.join();

    pool.take(busy, 1);
    pool.repost(1);
    pool.take(busy, 4);
    pool.repost(4);
    pool.request(other, 64);
    BOOST_TEST(pool.answers() == Peers{other});
    BOOST_TEST(pool.left(busy) + pool.left(other) == pool.pool.outstanding());
    BOOST_TEST(pool.pool.pressing() == false);
    pool.request(other, 64);
    BOOST_TEST(pool.pool.pressing());
    BOOST_TEST(pool.take(busy, 1) == 0u); /* it may be for who waits */
}

BOOST_AUTO_TEST_CASE(beyond_the_grant_nothing_is_noted)
{
    Noting pool(settings);
    uint32_t peer = pool.join();

    pool.take(peer, pool.left(peer));
    while (pool.left(peer) != 0) {
        pool.take(peer, 1); /* with nothing posted again the grants come to an end */
    }
    BOOST_TEST(!pool.pool.note_arrival(peer));
    BOOST_TEST(!pool.pool.on_arrival(peer));
    BOOST_TEST(!pool.pool.note_arrival(peer + 1));
    pool.leave(peer);
    BOOST_TEST(!pool.pool.note_arrival(peer));
}

BOOST_AUTO_TEST_SUITE_END()
