// SPDX-License-Identifier: BSD-3-Clause
//
// Single failures, of a queue pair and of the side channel, and what becomes of them.

#define BOOST_TEST_MODULE repair
#include "pair.hpp"

#include "control/node.hpp"

using namespace test;

namespace {

struct Idle : Pair {
    explicit Idle(Device &device) : Pair(device, quick(device), 1)
    {
    }

    void exchange()
    {
        for (End *end : {&a, &b}) {
            const uint64_t before = end->sent;
            BOOST_REQUIRE(until([&] {
                end->act();
                return end->sent >= before + 20;
            }));
        }
        BOOST_REQUIRE(until([&] { return a.quiet() && b.quiet(); }));
        a.settled();
        b.settled();
    }

    // As a device does: with an event.
    static bool break_queue_pair(uint32_t number)
    {
        return device_fault("qp-error qpn=" + std::to_string(number));
    }

    uint64_t of_both(const char *metric)
    {
        return a.node.metric(metric) + b.node.metric(metric);
    }
};

} // namespace

// The device says so; nobody has to send to find out.
BOOST_AUTO_TEST_CASE(a_failure_that_the_device_reports_is_repaired_at_once)
{
    Device device;
    Idle pair(device);
    pair.exchange();
    BOOST_REQUIRE(pair.break_queue_pair(pair.a.engine_peer().messages.qp().number()));
    BOOST_CHECK(pair.until([&] { return pair.of_both("recoveries") == 2; }));
    pair.exchange();
}

// Its receives are shared, so there are none to be flushed, and whoever sends to it would only hear nothing.
BOOST_AUTO_TEST_CASE(a_queue_pair_that_ends_in_silence_is_repaired_at_once)
{
    Device device;
    Idle pair(device);
    pair.exchange();
    for (bool bulk : {false, true}) {
        const uint64_t before = pair.of_both("recoveries");
        auto &peer            = pair.b.engine_peer();
        BOOST_REQUIRE_EQUAL((bulk ? peer.bulk : peer.messages).qp().to_error(), 0);
        BOOST_CHECK(pair.until([&] { return pair.of_both("recoveries") == before + 2; }));
        pair.exchange();
    }
}

// Nor does it notice that somebody else's on the same device is: UCX asserts that an interface which has just been made
// has nothing to do.
BOOST_AUTO_TEST_CASE(other_interfaces_of_the_device_have_nothing_to_do)
{
    Device device;
    Idle pair(device);
    Node fresh(device, quick(device));
    unsigned events = 0;
    for (unsigned round = 1; round <= 10; ++round) {
        pair.exchange();
        BOOST_REQUIRE_EQUAL(pair.b.engine_peer().messages.qp().to_error(), 0);
        BOOST_REQUIRE(pair.until([&] {
            events += be_fabric_progress(fresh.fabric);
            return pair.of_both("recoveries") == 2 * round;
        }));
    }
    BOOST_CHECK_EQUAL(events, 0u);
}

// A device that says nothing, neither that it went well nor that it failed.
BOOST_AUTO_TEST_CASE(a_path_on_which_nothing_completes_is_given_up)
{
    Device device;
    Idle pair(device);
    pair.exchange();
    BOOST_CHECK_EQUAL(pair.of_both("silences"), 0);
    BOOST_REQUIRE(device_fault("completion-delay delay=100s"));
    for (unsigned i = 0; i < 50; ++i) {
        pair.a.act();
    }
    BOOST_CHECK(pair.until([&] { return pair.of_both("silences") != 0; }));
    BOOST_REQUIRE(device_fault("clear"));
    pair.exchange();
    BOOST_CHECK_GE(pair.of_both("recoveries"), 2);
}

// Data goes on, and the channel comes back.
BOOST_AUTO_TEST_CASE(a_side_channel_that_is_cut_is_made_again)
{
    Device device;
    Idle pair(device);
    for (End *cut : {&pair.a, &pair.b}) {
        const uint64_t lost = pair.of_both("channels_lost");
        be::control::Node::acquire()->close(cut->engine_peer().connection, false);
        BOOST_CHECK(
                pair.until([&] { return pair.of_both("channels_lost") == lost + 2; }));
        pair.exchange();
        BOOST_CHECK(pair.until([&] {
            return !pair.a.engine_peer().recovery.channel_is_lost() &&
                   !pair.b.engine_peer().recovery.channel_is_lost();
        }));
    }
    BOOST_CHECK_EQUAL(pair.of_both("recoveries"), 0);
}

// In the middle of a recovery.
BOOST_AUTO_TEST_CASE(both_may_fail_at_once)
{
    Device device;
    Idle pair(device);
    for (unsigned round = 0; round < 20; ++round) {
        (void)pair.a.engine_peer().messages.qp().to_error();
        (void)pair.b.engine_peer().bulk.qp().to_error();
        for (unsigned i = 0; i < round; ++i) {
            pair.a.act();
            be_fabric_progress(pair.a.node.fabric);
            be_fabric_progress(pair.b.node.fabric);
        }
        be::control::Node::acquire()->close(
                (round % 2 == 0 ? pair.a : pair.b).engine_peer().connection, false);
        pair.exchange();
        BOOST_REQUIRE(pair.until([&] {
            return pair.ready() && !pair.a.engine_peer().recovery.channel_is_lost() &&
                   !pair.b.engine_peer().recovery.channel_is_lost();
        }));
    }
}

// Switched off on one side, it is off on both.
BOOST_AUTO_TEST_CASE(without_recovery_a_peer_fails_with_its_queue_pairs)
{
    Device device;
    be_fabric_config_t off = quick(device);
    off.recovery           = 0;
    Node with(device, quick(device));
    Node without(device, off);
    be_peer_t *peer = with.connect(without);
    BOOST_REQUIRE_EQUAL(send_bcopy({&with, &without}, peer, 1, pattern(100, 1)), BE_OK);
    BOOST_REQUIRE(wait({&with, &without}, [&] { return without.received.size() == 1; }));
    (void)static_cast<be::engine::Link *>(peer)->peer.messages.qp().to_error();
    (void)send_bcopy({&with, &without}, peer, 1, pattern(100, 1));
    BOOST_CHECK(wait({&with, &without}, [&] { return with.failed.size() == 1; }));
    BOOST_CHECK_EQUAL(with.metric("recoveries"), 0);
}

// A fabric's connection to itself has no side channel.
BOOST_AUTO_TEST_CASE(queue_pairs_to_itself_are_replaced)
{
    Device device;
    End end(device, quick(device), 5);
    end.connect(end);
    const auto until = [&](const std::function<bool()> &done) {
        return wait({&end.node}, [&] {
            end.take_puts();
            end.check_messages();
            return done();
        });
    };
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < 100; ++i) {
            end.act();
            if (i == 50) {
                auto &peer = end.engine_peer();
                (void)(round % 2 == 0 ? peer.messages : peer.bulk).qp().to_error();
            }
        }
        BOOST_REQUIRE_MESSAGE(until([&] { return end.quiet(); }),
                              "something does not complete; " << end.state());
        BOOST_REQUIRE(until([&] {
            return be_peer_flush(end.peer, nullptr) == BE_OK &&
                   end.engine_peer().state == be::engine::Peer::State::ready;
        }));
        end.settled();
    }
    BOOST_CHECK_GE(end.node.metric("recoveries"), 5);
}
