// SPDX-License-Identifier: BSD-3-Clause
//
// Messages and credit through a flow. Bulk is in flow_bulk_test.cpp, random schedules in
// flow_property_test.cpp.

#include "flow_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

FlowConfig config(uint32_t capacity, uint32_t share_cap, uint32_t floor = 2)
{
    FlowConfig config;

    config.pool.capacity     = capacity;
    config.pool.max_capacity = capacity;
    config.pool.share_cap    = share_cap;
    config.pool.floor        = floor;
    return config;
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow)

BOOST_AUTO_TEST_CASE(bad_configurations_are_refused)
{
    FlowConfig no_period, no_receives, no_quantum;

    no_period.active_ns       = 0;
    no_receives.pool.capacity = 0;
    no_quantum.window.quantum = 0;
    BOOST_CHECK_THROW(Flow{no_period}, std::invalid_argument);
    BOOST_CHECK_THROW(Flow{no_receives}, std::invalid_argument);
    BOOST_CHECK_THROW(Flow{no_quantum}, std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(no_room_for_a_peer)
{
    FlowConfig one = config(8, 2);

    one.pool.max_peers = 1;
    FlowFixture fixture(one);

    BOOST_TEST(fixture.flow.join(0).has_value());
    BOOST_TEST(!fixture.flow.join(0).has_value());
}

BOOST_AUTO_TEST_CASE(a_header_numbers_and_tells)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(3);

    DataHeader first = f.send(peer), second = f.send(peer);

    BOOST_TEST(first.seq == 0u);
    BOOST_TEST(second.seq == 1u);
    BOOST_TEST(second.granted == 2u); /* its floor */
    BOOST_TEST(f.flow.available(peer) == 1u);
    BOOST_TEST(f.flow.admit_message(peer));
    f.flow.revert_message(peer);
    BOOST_TEST(f.flow.available(peer) == 1u);
    BOOST_TEST(f.send(peer).seq == 2u);
    BOOST_TEST(!f.flow.admit_message(peer));
    BOOST_TEST(f.flow.acknowledged(peer, 2) == 2u);
    BOOST_TEST(f.flow.acknowledged(peer, 2) == 0u);
}

BOOST_AUTO_TEST_CASE(blocked_asks_once_and_resumes)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(2);

    f.send(peer);
    f.send(peer);
    f.now = 1000;
    f.flow.blocked(peer, 5, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::send_request, peer, 7}}));
    f.flow.blocked(peer, 6, f.now, f.actions);
    BOOST_TEST(f.taken().empty());

    /* Credit by a cell resumes; the request is not answered by it. */
    f.now = 3000;
    BOOST_TEST(f.flow.credit_update(peer, 3, f.now, f.actions));
    BOOST_TEST((f.taken() == Taken{{Action::resume, peer, 0}}));
    BOOST_TEST(!f.flow.credit_update(peer, 3, f.now, f.actions));
    BOOST_TEST(f.taken().empty());
    f.send(peer);
    f.flow.blocked(peer, 4, f.now, f.actions);
    BOOST_TEST(f.taken().empty());

    f.now = 4000;
    BOOST_TEST(f.flow.answered(peer, 7, f.now, f.actions));
    BOOST_TEST((f.taken() == Taken{{Action::resume, peer, 0}}));

    PeerStats stats = f.flow.stats(peer);

    BOOST_TEST(stats.requests_sent == 1u);
    BOOST_TEST(stats.credit_stall.count == 2u);
    BOOST_TEST(stats.credit_stall.ns == 3000u);
    BOOST_TEST(stats.credit_granted == 7u);
    BOOST_TEST(stats.credit_used == 3u);
    BOOST_TEST(stats.messages_sent == 3u);
}

BOOST_AUTO_TEST_CASE(blocked_with_credit_resumes_at_once)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(2);

    f.flow.blocked(peer, 1, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::resume, peer, 0}}));
    f.flow.blocked(peer, 0, f.now, f.actions); /* nothing queued: nothing to do */
    BOOST_TEST(f.taken().empty());
}

/* After a queue pair was replaced the driver reports the present total: nothing new, but
 * the request may be repeated. */
BOOST_AUTO_TEST_CASE(an_answer_without_credit_allows_another_request)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    f.flow.blocked(peer, 5, f.now, f.actions);
    BOOST_TEST(f.taken().size() == 1u);
    f.now = 500;
    BOOST_TEST(!f.flow.answered(peer, 0, f.now, f.actions));
    BOOST_TEST((f.taken() == Taken{{Action::resume, peer, 0}}));
    f.flow.blocked(peer, 5, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::send_request, peer, 5}}));
    f.now = 900;
    f.flow.answered(peer, 5, f.now, f.actions);
    BOOST_TEST(f.flow.stats(peer).credit_stall.count == 1u); /* one stall all along */
    BOOST_TEST(f.flow.stats(peer).credit_stall.ns == 900u);
}

BOOST_AUTO_TEST_CASE(a_header_carries_credit)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    f.flow.blocked(peer, 1, f.now, f.actions);
    f.taken();
    BOOST_TEST((f.flow.arrival(peer, 4, 0, f.now, f.actions) == Verdict::in_order));
    BOOST_TEST((f.taken() == Taken{{Action::resume, peer, 0}}));
    BOOST_TEST(f.flow.available(peer) == 4u);
}

BOOST_AUTO_TEST_CASE(verdicts)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    BOOST_TEST((f.flow.arrival(peer, 0, 0, f.now, f.actions) == Verdict::in_order));
    BOOST_TEST((f.flow.arrival(peer, 0, 0, f.now, f.actions) == Verdict::duplicate));
    BOOST_TEST((f.flow.arrival(peer, 0, 5, f.now, f.actions) == Verdict::gap));
    while (f.flow.granted(peer) != f.flow.pool().arrived(peer)) {
        f.flow.arrival(peer, 0, 0, f.now, f.actions);
    }
    BOOST_TEST((f.flow.arrival(peer, 0, 1, f.now, f.actions) == Verdict::overdrawn));
    BOOST_TEST((f.flow.arrival(99, 0, 0, f.now, f.actions) == Verdict::overdrawn));
    BOOST_TEST(
            (f.flow.arrival(peer, 1u << 31, 1, f.now, f.actions) == Verdict::overdrawn));
    BOOST_TEST((f.flow.arrival(peer, (1u << 30) + 1, 1, f.now, f.actions) ==
                Verdict::overdrawn));

    PeerStats stats = f.flow.stats(peer);

    BOOST_TEST(stats.gaps == 1u);
    BOOST_TEST(stats.duplicates == stats.messages_received - 5);
    BOOST_TEST(stats.overdrafts == 3u);
    BOOST_TEST(stats.refused_updates == 1u);
    BOOST_TEST(f.flow.stats().overdrafts == 4u); /* the stranger's too */
}

/* What cannot be read has used up a receive and a credit all the same. */
BOOST_AUTO_TEST_CASE(unreadable_arrivals)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    f.flow.arrival_unreadable(peer, f.now, f.actions);
    BOOST_TEST(f.flow.pool().arrived(peer) == 1u);
    BOOST_TEST(f.flow.pool().posted() == 15u);
    BOOST_TEST(f.flow.stats().overdrafts == 0u);
    f.flow.arrival_unreadable(no_peer, f.now, f.actions);
    BOOST_TEST(f.flow.pool().posted() == 14u);
    BOOST_TEST(f.flow.stats().overdrafts == 1u);
    while (f.flow.granted(peer) != f.flow.pool().arrived(peer)) {
        f.flow.arrival_unreadable(peer, f.now, f.actions);
    }
    f.flow.arrival_unreadable(peer, f.now, f.actions);
    BOOST_TEST(f.flow.stats(peer).overdrafts == 1u);

    /* All are posted again: none is taken for growth. */
    f.flow.reposted(16 - f.flow.pool().posted(), f.now, f.actions);
    BOOST_TEST(f.flow.stats().capacity == 16u);
}

/* The path failed under a message: the receive is gone until it is posted again, the credit stays. */
BOOST_AUTO_TEST_CASE(failed_receives)
{
    FlowFixture f(config(16, 2));
    uint32_t peer        = f.join(0);
    uint32_t outstanding = f.flow.stats().outstanding;

    f.flow.receive_failed(f.now, f.actions);
    BOOST_TEST(f.flow.pool().posted() == 15u);
    BOOST_TEST(f.flow.stats().outstanding == outstanding);
    f.flow.reposted(1, f.now, f.actions);
    BOOST_TEST(f.flow.pool().posted() == 16u);
    BOOST_TEST(f.flow.stats().capacity == 16u);
    BOOST_TEST(f.flow.stats().overdrafts == 0u);
    BOOST_TEST((f.flow.arrival(peer, 0, 0, f.now, f.actions) == Verdict::in_order));
}

BOOST_AUTO_TEST_CASE(requests_are_answered_from_what_is_free)
{
    FlowFixture f(config(8, 2));
    uint32_t peer = f.join(0);

    f.flow.request(peer, 100, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::answer_request, peer, 8}}));
    BOOST_TEST((f.flow.cell(peer) == CreditCell{8, 0, 2}));
    f.flow.told(peer);
    f.flow.request(peer, 100, f.now, f.actions);
    BOOST_TEST(f.taken().empty());
    for (uint32_t seq = 0; seq < 8; ++seq) {
        f.flow.arrival(peer, 0, seq, f.now, f.actions);
    }
    BOOST_TEST(f.taken().empty());
    f.flow.reposted(5, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::answer_request, peer, 13}}));
    BOOST_TEST(f.flow.stats(peer).answers == 2u);
    BOOST_TEST(f.flow.stats(peer).requests_received == 2u);
}

/* Demand totals have 28 bits on the wire; totals have 32. */
BOOST_AUTO_TEST_CASE(demand_is_widened)
{
    for (uint32_t start : {0x0ffffffeu, 0xfffffffeu, 0x7ffffffeu}) {
        FlowConfig wrapping = config(64, 0, 0);

        wrapping.pool.first_total = start;
        FlowFixture f(wrapping);
        uint32_t peer = f.join(start);

        f.flow.request(peer, (start + 7) & 0x0fffffff, f.now, f.actions);
        BOOST_TEST((f.taken() == Taken{{Action::answer_request, peer, start + 7}}));
    }
}

BOOST_AUTO_TEST_CASE(cells_are_written_for_one_way_traffic)
{
    FlowFixture f(config(64, 16));
    uint32_t peer = f.join(10);

    f.flow.arrival(peer, 0, 0, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::write_cell, peer, 17}}));
    BOOST_TEST(f.flow.cell_due(peer));
    BOOST_TEST(f.send(peer).granted ==
               17u); /* a header tells it before the driver writes */
    BOOST_TEST(!f.flow.cell_due(peer));
    BOOST_TEST(f.flow.stats(peer).cell_writes == 1u);
}

BOOST_AUTO_TEST_CASE(growth_is_asked_for)
{
    FlowConfig growing        = config(4, 2);
    growing.pool.max_capacity = 8;
    FlowFixture f(growing);

    f.join(0);
    uint32_t late = *f.flow.join(f.now);

    BOOST_TEST(f.flow.granted(late) == 0u);
    f.flow.drain(f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::post_receives, no_peer, 1}}));
    f.flow.reposted(1, f.now, f.actions);
    BOOST_TEST(f.flow.granted(late) == 1u);
    BOOST_TEST(f.flow.stats().capacity == 5u);
    BOOST_TEST(f.flow.stats().peers == 2u);
}

BOOST_AUTO_TEST_CASE(leaving_frees_and_forgets)
{
    FlowFixture f(config(8, 2));
    uint32_t gone = f.join(0), stays = f.join(0);

    f.flow.request(gone, 100, f.now, f.actions);
    f.flow.blocked(gone, 3, f.now, f.actions);
    f.taken();
    f.flow.request(stays, 100, f.now, f.actions);
    BOOST_TEST(f.taken().empty());
    f.now = 700;
    f.flow.leave(gone, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::answer_request, stays, 8}}));
    BOOST_TEST(f.flow.stats().requests_sent == 1u); /* what it did stays counted */
    BOOST_TEST(f.flow.stats().credit_stall.ns == 700u);

    uint32_t again = f.join(2);

    BOOST_TEST(again == gone);
    BOOST_TEST(f.flow.stats(again).requests_sent == 0u);
    BOOST_TEST(f.send(again).seq == 0u);
}

/* Nothing that happens to a peer that is not there does anything. */
BOOST_AUTO_TEST_CASE(events_of_strangers)
{
    FlowFixture f(config(8, 2));
    uint32_t peer = f.join(5);

    f.flow.leave(peer, f.now, f.actions);
    for (uint32_t stranger : {peer, 17u}) {
        f.flow.blocked(stranger, 3, f.now, f.actions);
        f.flow.cancelled(stranger, 3, f.now, f.actions);
        BOOST_TEST(!f.flow.credit_update(stranger, 9, f.now, f.actions));
        BOOST_TEST(!f.flow.answered(stranger, 9, f.now, f.actions));
        f.flow.request(stranger, 3, f.now, f.actions);
        f.flow.bulk_queued(stranger, 10);
        f.flow.bulk_cancelled(stranger, 10);
        f.flow.bulk_done(stranger, 10);
        f.flow.leave(stranger, f.now, f.actions);
        BOOST_TEST(f.flow.stats(stranger).credit_granted == 0u);
    }
    BOOST_TEST(f.taken().empty());
    BOOST_TEST(!f.flow.next_bulk(f.now));
}

/* Every action comes out in the end, one at a time. */
BOOST_AUTO_TEST_CASE(actions_that_do_not_fit_come_later)
{
    FlowFixture f(config(64, 0, 0));
    std::array<Action, 1> one;
    Actions narrow(one), none(std::span<Action>{});
    Taken all;

    for (uint32_t i = 0; i < 5; ++i) {
        f.join(0);
    }
    for (uint32_t peer = 0; peer < 5; ++peer) {
        f.flow.request(peer, 3, f.now, none);
        f.flow.blocked(peer, 4, f.now, none);
    }
    for (;;) {
        narrow.clear();
        f.flow.drain(narrow);
        if (narrow.size() == 0) {
            break;
        }
        all.push_back(*narrow.begin());
    }
    BOOST_REQUIRE(all.size() == 10u);
    for (uint32_t i = 0; i < 5; ++i) {
        BOOST_TEST((all[i] == Action{Action::answer_request, i, 3}));
        BOOST_TEST((all[5 + i] == Action{Action::send_request, i, 4}));
    }
}

BOOST_AUTO_TEST_CASE(credit_of_cancelled_messages_goes_back)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    f.flow.blocked(peer, 10, f.now, f.actions);
    f.taken();
    f.flow.cancelled(peer, 0, f.now, f.actions);
    BOOST_TEST(f.taken().empty()); /* there is nothing to return yet */
    BOOST_TEST(f.flow.tick_needed());
    f.flow.answered(peer, 6, f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::return_credit, peer, 6}}));

    /* The driver sends two and has no room for more now; it is reminded. */
    f.send(peer);
    f.send(peer);
    f.flow.tick(f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::return_credit, peer, 4}}));
    for (int i = 0; i < 4; ++i) {
        f.send(peer);
    }
    f.flow.tick(f.now, f.actions);
    BOOST_TEST(f.taken().empty());
    BOOST_TEST(!f.flow.tick_needed());
}

/* Messages that are left use the credit first. */
BOOST_AUTO_TEST_CASE(a_cancelled_part)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(0);

    f.flow.blocked(peer, 10, f.now, f.actions);
    f.taken();
    f.flow.cancelled(peer, 2, f.now, f.actions);
    f.flow.tick(f.now, f.actions);
    BOOST_TEST(f.taken().empty());
    f.flow.answered(peer, 10, f.now, f.actions);

    Taken actions = f.taken();

    BOOST_TEST(
            (actions.front() == Action{Action::resume, peer, 0})); /* before any return */
    f.send(peer);
    f.send(peer);
    f.flow.tick(f.now, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::return_credit, peer, 8}}));
}

BOOST_AUTO_TEST_CASE(cancelling_without_having_asked)
{
    FlowFixture f(config(16, 2));
    uint32_t peer = f.join(5);

    f.flow.cancelled(peer, 0, f.now, f.actions);
    BOOST_TEST(f.taken().empty()); /* that credit stands: it stays */
    BOOST_TEST(!f.flow.tick_needed());
}

/* Cancelling ends a stall, and takes back a resume that is not out yet. */
BOOST_AUTO_TEST_CASE(cancelling_ends_the_stall)
{
    FlowFixture f(config(16, 2));
    Actions none(std::span<Action>{});
    uint32_t peer = f.join(0);

    f.flow.blocked(peer, 3, 100, f.actions);
    f.taken();
    f.flow.credit_update(peer, 1, 300, none);
    f.flow.cancelled(peer, 0, 400, f.actions);
    BOOST_TEST((f.taken() == Taken{{Action::return_credit, peer, 1}}));
    BOOST_TEST(f.flow.stats(peer).credit_stall.ns == 200u);
}

BOOST_AUTO_TEST_CASE(activity_follows_the_clock)
{
    FlowConfig timed = config(64, 32);

    timed.active_ns = 1000;
    FlowFixture f(timed);
    uint32_t first = f.join(0), second = f.join(0);

    f.flow.arrival(first, 0, 0, 10, f.actions);
    f.flow.arrival(second, 0, 0, 900, f.actions);
    BOOST_TEST(f.flow.stats().active_peers == 2u);
    BOOST_TEST(f.flow.stats().share == 16u);
    f.flow.arrival(first, 0, 1, 1100, f.actions);
    BOOST_TEST(f.flow.stats().active_peers == 2u); /* seen in this period or the last */
    f.flow.tick(2150, f.actions);
    BOOST_TEST(f.flow.stats().active_peers == 1u);
    f.flow.tick(9000, f.actions); /* long silence */
    BOOST_TEST(f.flow.stats().active_peers == 0u);
    f.flow.tick(10, f.actions); /* a clock that steps back does no harm */
    f.flow.arrival(first, 0, 2, 20, f.actions);
    BOOST_TEST(f.flow.stats().active_peers == 1u);
    BOOST_TEST(f.flow.check() == "");
}

BOOST_AUTO_TEST_SUITE_END()
