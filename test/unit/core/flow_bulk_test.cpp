// SPDX-License-Identifier: BSD-3-Clause
//
// Bulk through a flow: scheduler and windows together.

#include "flow_fixture.hpp"

#include <deque>
#include <random>

using namespace be::core;
using namespace be::test;

namespace {

FlowConfig config(uint64_t port, uint64_t peer, uint32_t quantum)
{
    FlowConfig config;

    config.window = {.port = port, .peer = peer, .quantum = quantum};
    return config;
}

/* What may be posted now, as (peer, bytes). */
std::vector<std::pair<uint32_t, uint32_t>> post_all(FlowFixture &f)
{
    std::vector<std::pair<uint32_t, uint32_t>> pieces;

    while (BulkGrant grant = f.flow.next_bulk(f.now)) {
        pieces.emplace_back(grant.peer, grant.bytes);
    }
    BOOST_REQUIRE_EQUAL(f.flow.check(), "");
    return pieces;
}

using Pieces = std::vector<std::pair<uint32_t, uint32_t>>;

} // namespace

BOOST_AUTO_TEST_SUITE(flow_bulk)

BOOST_AUTO_TEST_CASE(nothing_queued)
{
    FlowFixture f(config(100, 50, 10));
    uint32_t peer = f.join(0);

    BOOST_TEST(!f.flow.next_bulk(f.now));
    f.flow.bulk_queued(peer, 0);
    BOOST_TEST(!f.flow.next_bulk(f.now));
}

BOOST_AUTO_TEST_CASE(cut_into_quanta_within_the_window)
{
    FlowFixture f(config(100, 50, 10));
    uint32_t peer = f.join(0);

    f.flow.bulk_queued(peer, 75);
    BOOST_TEST((post_all(f) == Pieces(5, {peer, 10})));
    BOOST_TEST(f.flow.stats(peer).bulk_outstanding == 50u);
    BOOST_TEST(f.flow.stats(peer).bulk_queued == 25u);
    f.flow.bulk_done(peer, 10);
    BOOST_TEST((post_all(f) == Pieces{{peer, 10}}));
    f.flow.bulk_done(peer, 50);
    BOOST_TEST((post_all(f) == Pieces{{peer, 10}, {peer, 5}}));
    f.flow.bulk_done(peer, 15);
    BOOST_TEST(f.flow.stats(peer).bulk_bytes == 75u);
    BOOST_TEST(f.flow.stats().bulk_outstanding == 0u);
}

BOOST_AUTO_TEST_CASE(peers_take_turns)
{
    FlowFixture f(config(100, 50, 10));
    uint32_t a = f.join(0), b = f.join(0), c = f.join(0);

    f.flow.bulk_queued(a, 1000);
    f.flow.bulk_queued(b, 15);
    f.flow.bulk_queued(c, 1000);
    BOOST_TEST((post_all(f) == Pieces{{a, 10},
                                      {b, 10},
                                      {c, 10},
                                      {a, 10},
                                      {b, 5},
                                      {c, 10},
                                      {a, 10},
                                      {c, 10}})); /* a third of the port each */
}

/* A peer that completes nothing leaves the others their part. */
BOOST_AUTO_TEST_CASE(a_slow_peer_holds_nobody_up)
{
    FlowFixture f(config(100, 1000, 10));
    uint32_t slow = f.join(0), busy = f.join(0);
    uint64_t sent = 0;

    f.flow.bulk_queued(slow, 100000);
    BOOST_TEST(post_all(f).size() == 9u); /* all but a quantum */
    f.flow.bulk_queued(busy, 10000);
    for (int i = 0; i < 100; ++i) {
        for (auto [peer, bytes] : post_all(f)) {
            BOOST_TEST(peer == busy);
            f.flow.bulk_done(busy, bytes);
            sent += bytes;
        }
    }
    BOOST_TEST(sent == 1000u);
}

BOOST_AUTO_TEST_CASE(stalls_are_measured)
{
    FlowFixture f(config(40, 20, 10));
    uint32_t a = f.join(0), b = f.join(0);

    f.flow.bulk_queued(a, 100);
    f.now = 100;
    post_all(f); /* its window is full */
    f.now = 250;
    f.flow.bulk_done(a, 10);
    post_all(f);
    BOOST_TEST(f.flow.stats(a).window_stall.count == 2u); /* full again */
    BOOST_TEST(f.flow.stats(a).window_stall.ns == 150u);

    f.flow.bulk_queued(b, 100);
    f.now = 300;
    post_all(f); /* the port is full */
    BOOST_TEST(f.flow.stats(b).window_stall.count == 1u);
    f.flow.leave(b, 400, f.actions);
    BOOST_TEST(f.flow.stats().window_stall.ns == 250u);
    BOOST_TEST(f.flow.stats().bulk_outstanding == 20u);
}

BOOST_AUTO_TEST_CASE(cancelling)
{
    FlowFixture f(config(100, 50, 10));
    uint32_t peer = f.join(0);

    f.flow.bulk_queued(peer, 30);
    BOOST_TEST(f.flow.next_bulk(f.now).bytes == 10u);
    f.flow.bulk_cancelled(peer, 15);
    BOOST_TEST((post_all(f) == Pieces{{peer, 5}}));
    f.flow.bulk_queued(peer, 30);
    f.flow.bulk_cancelled(peer, 1000); /* not more than there is */
    BOOST_TEST(post_all(f).empty());
    f.flow.bulk_done(peer, 15);
    BOOST_TEST(f.flow.check() == "");
}

BOOST_AUTO_TEST_CASE(leaving_gives_the_window_back)
{
    FlowFixture f(config(100, 50, 10));
    uint32_t gone = f.join(0), stays = f.join(0);

    f.flow.bulk_queued(gone, 1000);
    f.flow.bulk_queued(stays, 1000);
    BOOST_TEST(post_all(f).size() == 10u);
    f.flow.leave(gone, f.now, f.actions);
    BOOST_TEST(f.flow.stats().bulk_outstanding == 50u);
    f.flow.bulk_done(stays, 50);
    BOOST_TEST((post_all(f) == Pieces(5, {stays, 10})));

    uint32_t again = f.join(0);

    BOOST_TEST(again == gone);
    BOOST_TEST(f.flow.stats(again).bulk_queued == 0u);
}

/* Everything queued is sent once, nobody is left behind, windows hold: whatever the order
 * in which pieces complete. */
BOOST_AUTO_TEST_CASE(random_completions)
{
    std::mt19937 random(9);
    FlowFixture f(config(1000, 400, 64));
    std::vector<uint64_t> queued(12), sent(12);
    std::deque<std::pair<uint32_t, uint32_t>> out;

    for (uint32_t peer = 0; peer < 12; ++peer) {
        f.join(0);
    }
    for (int step = 0; step < 20000; ++step) {
        if (step < 10000) {
            uint32_t peer = random() % 12, bytes = random() % 300;

            f.flow.bulk_queued(peer, bytes);
            queued[peer] += bytes;
        }
        for (auto [peer, bytes] : post_all(f)) {
            out.emplace_back(peer, bytes);
            sent[peer] += bytes;
        }
        for (int i = 0; (i < 4) && !out.empty(); ++i) {
            std::swap(out[random() % out.size()], out.back());
            f.flow.bulk_done(out.back().first, out.back().second);
            out.pop_back();
        }
        if ((step >= 10000) && out.empty()) {
            break;
        }
    }
    BOOST_TEST(queued == sent, boost::test_tools::per_element());
    BOOST_TEST(f.flow.stats().bulk_outstanding == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
