// SPDX-License-Identifier: BSD-3-Clause
//
// Who sleeps while it waits for bytes is woken; a cell alone raises no event.

#include "flow_fixture.hpp"

using namespace be::core;
using namespace be::test;

namespace {

FlowConfig config()
{
    FlowConfig config;

    config.bytes         = {.unit        = 1,
                            .quantum     = 10,
                            .run         = 10,
                            .bonus       = 0,
                            .late        = 10,
                            .least_bonus = 1,
                            .loop_ns     = 1'000'000'000};
    config.window        = {.port = 100, .peer = 100, .quantum = 10};
    config.small_message = 8;
    return config;
}

bool has(const Taken &actions, Action::Kind kind, uint32_t peer, uint32_t value)
{
    return std::find(actions.begin(), actions.end(), Action{kind, peer, value}) !=
           actions.end();
}

bool has(const Taken &actions, Action::Kind kind)
{
    return std::any_of(actions.begin(), actions.end(),
                       [&](const Action &action) { return action.kind == kind; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow_sleep)

BOOST_AUTO_TEST_CASE(whoever_waits_for_bytes_asks_to_be_woken_once)
{
    FlowFixture f(config());
    uint32_t peer = f.join(4);

    f.flow.sleep(f.now, f.actions);
    BOOST_TEST(!has(f.taken(), Action::send_wake)); /* nothing waits */

    f.flow.bulk_queued(peer, 10, BulkKind::write, f.now, f.actions);
    BOOST_TEST(!f.flow.next_bulk(f.now));
    BOOST_TEST(f.flow.waits_for_bytes(peer));
    (void)f.taken();
    f.flow.sleep(f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::send_wake, peer, 0));
    f.flow.sleep(f.now, f.actions);
    BOOST_TEST(!has(f.taken(), Action::send_wake)); /* it knows */

    BOOST_TEST(f.flow.woken(peer, 10, f.now, f.actions));
    BOOST_TEST(has(f.taken(), Action::pump_bulk));
    BOOST_TEST(f.flow.next_bulk(f.now).bytes == 10u);
    BOOST_TEST(!f.flow.waits_for_bytes(peer));
    BOOST_TEST(f.flow.stats(peer).wakes == 1u);
}

BOOST_AUTO_TEST_CASE(a_large_message_that_waits_counts_too)
{
    FlowFixture f(config());
    uint32_t peer = f.join(4);

    BOOST_TEST(f.flow.admit_message(peer));
    BOOST_TEST(!f.flow.admit_bytes(peer, 9));
    f.flow.revert_message(peer);
    f.flow.blocked(peer, Waiting{.small = 0, .large = 1, .first = 9, .all = 9}, f.now,
                   f.actions);
    f.flow.sleep(f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::send_wake, peer, 0));
    f.flow.woken(peer, 9, f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::resume, peer, 0));
    BOOST_TEST(f.flow.admit_message(peer, 9));
    BOOST_TEST(f.flow.available(peer) == 3u);
}

/* Credit that is too little, or for something else, does not end the wait. */
BOOST_AUTO_TEST_CASE(a_part_of_what_is_needed_does_not_end_the_wait)
{
    FlowFixture f(config());
    uint32_t peer = f.join(4);

    f.flow.blocked(peer, Waiting{.small = 0, .large = 1, .first = 9, .all = 9}, f.now,
                   f.actions);
    BOOST_TEST(f.flow.credit_update(peer, CreditCell{.messages = 4, .byte_units = 5},
                                    f.now, f.actions));
    BOOST_TEST(f.flow.waits_for_bytes(peer));
    f.flow.bulk_queued(peer, 10, BulkKind::read, f.now, f.actions);
    BOOST_TEST(f.flow.next_bulk(f.now).bytes == 10u);
    BOOST_TEST(f.flow.waits_for_bytes(peer));
    (void)f.taken();
    f.flow.sleep(f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::send_wake, peer, 5));
    f.flow.credit_update(peer, CreditCell{.messages = 4, .byte_units = 14}, f.now,
                         f.actions);
    BOOST_TEST(f.flow.admit_message(peer, 9));
    BOOST_TEST(!f.flow.waits_for_bytes(peer));
    (void)f.taken();
}

BOOST_AUTO_TEST_CASE(the_receiver_wakes_when_it_grants)
{
    FlowFixture f(config());
    uint32_t busy = f.join(4), sleeper = f.join(4);

    f.flow.byte_request(busy, 10, f.now, f.actions);
    f.flow.byte_request(sleeper, 10, f.now, f.actions); /* there is nothing for it now */
    (void)f.taken();
    f.flow.wake(sleeper, 0, f.now, f.actions);
    BOOST_TEST(!has(f.taken(), Action::send_woken));
    BOOST_TEST(f.flow.bytes_arrived(busy, 10, f.now, f.actions));

    Taken actions = f.taken();

    BOOST_TEST(has(actions, Action::write_cell));
    BOOST_TEST(has(actions, Action::send_woken, sleeper, 10));

    /* One that does not know yet what it has is told at once. */
    f.flow.wake(sleeper, 0, f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::send_woken, sleeper, 10));
}

/* A small write goes at once, or not at all. */
BOOST_AUTO_TEST_CASE(small_writes_take_credit_or_queue)
{
    FlowFixture f(config());
    uint32_t peer = f.join(4);

    BOOST_TEST(!f.flow.admit_write(peer, 4));
    f.flow.credit_update(peer, CreditCell{.messages = 4, .byte_units = 10}, f.now,
                         f.actions);
    BOOST_TEST(f.flow.admit_write(peer, 4));
    BOOST_TEST(f.flow.stats(peer).bytes_granted == 6u);
    BOOST_TEST(f.flow.stats(peer).bulk_outstanding == 4u);
    f.flow.bulk_queued(peer, 20, BulkKind::write, f.now, f.actions);
    BOOST_TEST(!f.flow.admit_write(peer, 4)); /* others were first */
    f.flow.bulk_done(peer, 4);
    (void)f.taken();
}

/* What was granted and is not posted goes back, each kind to where it came from. */
BOOST_AUTO_TEST_CASE(reverted_bulk_gives_its_credit_back)
{
    FlowFixture f(config());
    uint32_t peer = f.join(4);

    f.flow.credit_update(peer, CreditCell{.messages = 4, .byte_units = 10}, f.now,
                         f.actions);
    f.flow.bulk_queued(peer, 10, BulkKind::write, f.now, f.actions);
    BulkGrant write = f.flow.next_bulk(f.now);

    (void)f.taken();
    f.flow.bulk_reverted(peer, write.bytes, BulkKind::write, f.now, f.actions);
    BOOST_TEST(has(f.taken(), Action::send_byte_return, peer, 10));
    BOOST_TEST(f.flow.stats(peer).bulk_outstanding == 0u);

    f.flow.bulk_queued(peer, 10, BulkKind::read, f.now, f.actions);
    BulkGrant read = f.flow.next_bulk(f.now);

    BOOST_TEST(read.bytes == 10u);
    BOOST_TEST(f.flow.bytes().outstanding() == 10u);
    f.flow.bulk_reverted(peer, read.bytes, BulkKind::read, f.now, f.actions);
    BOOST_TEST(f.flow.bytes().outstanding() == 0u);
    (void)f.taken();
}

BOOST_AUTO_TEST_SUITE_END()
