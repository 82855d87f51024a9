// SPDX-License-Identifier: BSD-3-Clause
//
// What the table of transitions (recovery_table_test.cpp) leaves out: times, permission, the
// choice of a path, counters, epochs that wrap.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

#include "core/backoff.hpp"
#include "core/recovery.hpp"

using namespace be::core;
using Step = RecoveryStep;

namespace {

constexpr uint64_t us = 1000;
constexpr uint64_t ms = 1000 * us;

constexpr RecoveryConfig config{.backoff    = {.first_ns  = 1 * ms,
                                               .max_ns    = 8 * ms,
                                               .stable_ns = 100 * ms},
                                .timeout_ns = 1000 * ms};

/* Ready in epoch 0 since time 0. */
Recovery ready(const RecoveryConfig &with = config)
{
    Recovery end(with, 1);

    end.connected(0);
    return end;
}

/* The peer does its part. */
void finish(Recovery &end, uint64_t now)
{
    end.drained(now);
    end.recover(end.epoch(), RecoveryPath::rdma, now);
    end.rewired(now);
    end.recovered(end.epoch(), now);
    BOOST_REQUIRE(end.state() == RecoveryState::ready);
}

/* On TCP, for want of a device of our own. */
Recovery on_tcp(uint64_t now)
{
    Recovery end = ready();

    end.no_device(now);
    end.failed(now);
    end.drained(now);
    end.recover(end.epoch(), RecoveryPath::rdma, now);
    BOOST_REQUIRE(end.state() == RecoveryState::tcp);
    return end;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recovery)

BOOST_AUTO_TEST_CASE(backoff_doubles_until_it_was_good_for_long)
{
    Backoff backoff(config.backoff, 7);

    for (int round = 0; round < 3; ++round) {
        BOOST_TEST(backoff.failed(round == 0 ? 0 : 100 * ms) == 0u);
        for (uint64_t bound : {1 * ms, 2 * ms, 4 * ms, 8 * ms, 8 * ms, 8 * ms}) {
            uint64_t wait = backoff.failed(100 * ms - 1);

            BOOST_TEST(wait >= bound / 2);
            BOOST_TEST(wait <= bound);
        }
    }
}

BOOST_AUTO_TEST_CASE(backoff_is_spread_over_its_range_and_repeats_with_its_seed)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint64_t seed = 0; seed < 1000; ++seed) {
        Backoff backoff(config.backoff, seed);
        Backoff same(config.backoff, seed);

        backoff.failed(0);
        same.failed(0);

        uint64_t wait = backoff.failed(0);

        BOOST_TEST(wait == same.failed(0));
        least = std::min(least, wait);
        most  = std::max(most, wait);
    }
    BOOST_TEST(least < 520 * us);
    BOOST_TEST(most > 980 * us);
}

BOOST_AUTO_TEST_CASE(bad_configurations_are_refused)
{
    RecoveryConfig bad = config;

    bad.timeout_ns = 0;
    BOOST_CHECK_EXCEPTION(Recovery(bad, 1), std::invalid_argument, [](const auto &error) {
        return std::string(error.what()) ==
               "recovery timeout is 0 ns, expected at least 1";
    });
    bad                  = config;
    bad.backoff.first_ns = 0;
    BOOST_CHECK_THROW(Recovery(bad, 1), std::invalid_argument);
    bad                = config;
    bad.backoff.max_ns = bad.backoff.first_ns - 1;
    BOOST_CHECK_THROW(Recovery(bad, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_seed_that_would_stop_the_jitter_does_not)
{
    Backoff backoff(config.backoff, 0x9e3779b97f4a7c15);

    backoff.failed(0);
    backoff.failed(0);

    uint64_t first = backoff.failed(0); /* of 2 ms */

    backoff.failed(0);
    backoff.failed(0);
    BOOST_TEST(first >= 1 * ms);
    BOOST_TEST(backoff.failed(0) != backoff.failed(0));
}

BOOST_AUTO_TEST_CASE(the_first_failure_waits_for_nothing_the_next_does)
{
    Recovery end = ready();

    BOOST_TEST(end.due_ns() == Recovery::never);
    BOOST_TEST((end.failed(5 * ms) == Step::drain));
    BOOST_TEST(end.due_ns() == 1005 * ms); /* the timeout: it drains */
    BOOST_TEST(end.drained(6 * ms).empty());
    BOOST_TEST(end.due_ns() == 5 * ms);
    BOOST_TEST((end.tick(6 * ms) == Step::send_recover));
    BOOST_TEST(end.due_ns() == 1005 * ms);

    end.failed(7 * ms); /* before it was ready */
    end.drained(7 * ms);

    uint64_t due = end.due_ns();

    BOOST_TEST(due >= 7 * ms + 500 * us);
    BOOST_TEST(due <= 8 * ms);
    BOOST_TEST(end.tick(due - 1).empty());
    BOOST_TEST((end.tick(due) == Step::send_recover));
}

/* A queue pair that reaches nobody is ready until its retries are used up. */
BOOST_AUTO_TEST_CASE(a_path_that_carried_nothing_is_a_failure_in_a_row)
{
    Recovery end  = ready();
    uint64_t wait = 0;

    for (unsigned failure = 0; failure < 5; ++failure) {
        uint64_t now = (1 + failure) * 200 * ms;

        end.failed(now);
        end.drained(now);
        wait = end.due_ns() - now;
        BOOST_TEST(wait <= (failure == 0 ? 0 : (1 * ms) << (failure - 1)));
        BOOST_TEST(wait >= (failure == 0 ? 0 : (1 * ms) << (failure - 1)) / 2);
        finish(end, now + 200 * ms - 90 * ms); /* up for less than stable_ns */
    }
    BOOST_TEST(wait >= 4 * ms);
}

BOOST_AUTO_TEST_CASE(a_path_that_carried_something_was_good_however_short)
{
    Recovery end = ready();

    for (uint64_t now = 1 * ms; now < 50 * ms; now += 2 * ms) {
        end.worked();
        end.failed(now);
        end.worked(); /* of what is gone: it says nothing of the next */
        end.drained(now);
        BOOST_TEST(end.due_ns() == now);
        finish(end, now + 1 * ms);
    }
    end.failed(50 * ms); /* the first one */
    end.drained(50 * ms);
    BOOST_TEST(end.due_ns() > 50 * ms);
}

BOOST_AUTO_TEST_CASE(when_hastened_it_does_not_wait_longer)
{
    Recovery end = ready();

    end.failed(1 * ms);
    finish(end, 1 * ms);
    end.failed(2 * ms);
    end.drained(2 * ms);
    BOOST_TEST(end.due_ns() > 2 * ms + 100 * us);
    end.hasten(2 * ms + 100 * us);
    BOOST_TEST(end.due_ns() == 2 * ms + 100 * us);
    end.hasten(3 * ms); /* later than it would anyway */
    BOOST_TEST(end.due_ns() == 2 * ms + 100 * us);
    BOOST_TEST((end.tick(2 * ms + 100 * us) == Step::send_recover));
}

BOOST_AUTO_TEST_CASE(an_answer_waits_for_neither_back_off_nor_permission)
{
    Recovery end = ready();

    finish((end.failed(1 * ms), end), 1 * ms);
    end.failed(2 * ms);
    end.drained(2 * ms);
    BOOST_TEST(end.due_ns() > 2 * ms);
    BOOST_TEST((end.recover(end.epoch(), RecoveryPath::rdma, 2 * ms) ==
                (Step::send_recover | Step::rewire)));
}

BOOST_AUTO_TEST_CASE(without_permission_it_waits_and_is_not_due)
{
    Recovery end = ready();

    end.failed(1 * ms);
    end.drained(1 * ms);
    BOOST_TEST(!end.waits_for_permission());
    BOOST_TEST(end.tick(1 * ms, false).empty());
    BOOST_TEST(end.waits_for_permission());
    BOOST_TEST(end.due_ns() == 1001 * ms);

    Recovery answering = end;

    BOOST_TEST((answering.recover(1, RecoveryPath::rdma, 2 * ms) ==
                (Step::send_recover | Step::rewire)));
    BOOST_TEST(!answering.waits_for_permission());

    BOOST_TEST((end.tick(2 * ms) == Step::send_recover));
    BOOST_TEST(!end.waits_for_permission());
    end.failed(3 * ms); /* refused once does not mean for ever */
    end.drained(3 * ms);
    BOOST_TEST(end.due_ns() < 1001 * ms);
}

BOOST_AUTO_TEST_CASE(it_times_out_however_often_it_tries)
{
    Recovery end = ready();

    end.failed(10 * ms);
    for (uint64_t now = 10 * ms; now < 1010 * ms; now += 10 * ms) {
        end.drained(now);
        BOOST_TEST(!end.tick(now).has(Step::die));
        end.failed(now);
        BOOST_TEST(end.due_ns() == 1010 * ms);
    }
    BOOST_TEST((end.tick(1010 * ms) == Step::die));
    BOOST_TEST((end.reason() == RecoveryReason::timed_out));
    BOOST_TEST(end.due_ns() == Recovery::never);
    BOOST_TEST(end.tick(2000 * ms).empty());
}

BOOST_AUTO_TEST_CASE(a_channel_that_does_not_come_back_times_out_too)
{
    Recovery end = ready();

    end.channel_lost(10 * ms);
    BOOST_TEST((end.state() == RecoveryState::ready));
    BOOST_TEST(end.due_ns() == 1010 * ms);
    end.channel_back(1009 * ms);
    BOOST_TEST(end.due_ns() == Recovery::never);
    end.channel_lost(1010 * ms);
    BOOST_TEST(end.tick(2009 * ms).empty());
    BOOST_TEST((end.tick(2010 * ms) == Step::die));
    BOOST_TEST((end.reason() == RecoveryReason::timed_out));
}

BOOST_AUTO_TEST_CASE(the_reason_is_the_first)
{
    Recovery end = ready();

    BOOST_TEST((end.reason() == RecoveryReason::none));
    BOOST_TEST((end.give_up(RecoveryReason::protocol, 1) == Step::die));
    BOOST_TEST(end.departed(2).empty());
    BOOST_TEST((end.reason() == RecoveryReason::protocol));

    Recovery left = ready();

    left.departed(1);
    BOOST_TEST((left.reason() == RecoveryReason::departed));

    Recovery stranger = ready();

    stranger.refused(1);
    BOOST_TEST((stranger.reason() == RecoveryReason::refused));
}

BOOST_AUTO_TEST_CASE(rdma_is_taken_back_when_the_device_was_there_for_long_enough)
{
    Recovery end = on_tcp(10 * ms);

    BOOST_TEST(end.due_ns() == Recovery::never);
    end.device_back(20 * ms);
    BOOST_TEST(end.due_ns() == 120 * ms);
    end.no_device(30 * ms); /* it flaps */
    BOOST_TEST(end.due_ns() == Recovery::never);
    end.device_back(40 * ms);
    BOOST_TEST(end.tick(139 * ms).empty());
    BOOST_TEST((end.tick(140 * ms) == Step::drain));
    BOOST_TEST(end.epoch() == 2u);
    end.drained(140 * ms);
    BOOST_TEST((end.tick(140 * ms) == Step::send_recover)); /* no failure: no wait */
    BOOST_TEST((end.path() == RecoveryPath::rdma));
}

BOOST_AUTO_TEST_CASE(a_device_that_came_back_on_the_way_to_tcp_counts_from_there)
{
    Recovery end = ready();

    end.no_device(10 * ms);
    end.failed(10 * ms);
    end.drained(10 * ms);
    end.tick(10 * ms);
    BOOST_TEST((end.path() == RecoveryPath::tcp));
    end.device_back(11 * ms);
    BOOST_TEST((end.recover(1, RecoveryPath::rdma, 50 * ms) ==
                (Step::use_tcp | Step::resume)));
    BOOST_TEST(end.due_ns() == 150 * ms);
}

BOOST_AUTO_TEST_CASE(only_who_lacked_a_device_goes_back)
{
    Recovery end = ready();

    end.failed(10 * ms);
    end.drained(10 * ms);
    end.recover(1, RecoveryPath::tcp, 10 * ms);
    BOOST_TEST((end.state() == RecoveryState::tcp));
    BOOST_TEST((end.path() == RecoveryPath::rdma));
    BOOST_TEST(end.due_ns() == Recovery::never);
}

BOOST_AUTO_TEST_CASE(without_tcp_it_waits_for_a_device)
{
    RecoveryConfig without = config;

    without.tcp  = false;
    Recovery end = ready(without);

    end.no_device(1 * ms);
    end.failed(1 * ms);
    end.drained(1 * ms);
    BOOST_TEST(end.due_ns() == 1001 * ms);
    BOOST_TEST(end.tick(500 * ms).empty());

    Recovery answering = end;

    BOOST_TEST(answering.recover(1, RecoveryPath::rdma, 500 * ms).empty());
    BOOST_TEST((answering.state() == RecoveryState::broken));
    BOOST_TEST((answering.device_back(501 * ms) == (Step::send_recover | Step::rewire)));

    Recovery beginning = end;

    BOOST_TEST(beginning.device_back(501 * ms).empty());
    BOOST_TEST((beginning.tick(beginning.due_ns()) == Step::send_recover));

    BOOST_TEST((end.tick(1001 * ms) == Step::die));

    Recovery told = ready(without); /* they were to agree */

    BOOST_TEST((told.recover(1, RecoveryPath::tcp, 1 * ms) == Step::die));
    BOOST_TEST((told.reason() == RecoveryReason::protocol));
}

BOOST_AUTO_TEST_CASE(recoveries_are_counted_and_timed)
{
    Recovery end        = ready();
    uint64_t now        = 1000 * ms;
    uint64_t took[]     = {0, 999, us, 3 * us, 4 * us, 900 * ms};
    std::size_t slots[] = {0, 0, 1, 2, 3, 20};

    for (std::size_t i = 0; i < std::size(took); ++i) {
        uint64_t before = end.stats().durations[slots[i]];

        end.failed(now);
        end.failed(now + took[i]); /* within one outage */
        finish(end, now + took[i]);
        BOOST_TEST(end.stats().completed == i + 1);
        BOOST_TEST(end.stats().last_ns == took[i]);
        BOOST_TEST(end.stats().durations[slots[i]] == before + 1);
        now += 5000 * ms;
    }

    RecoveryConfig patient = config;

    patient.timeout_ns = Recovery::never;
    Recovery slow      = ready(patient);

    slow.failed(0);
    finish(slow, Recovery::never - 1);
    BOOST_TEST(slow.stats().durations[RecoveryStats::buckets - 1] == 1u);
}

BOOST_AUTO_TEST_CASE(epochs_wrap)
{
    Recovery end = ready();

    for (uint32_t epoch : {0x7fffffffu, 0xfffffffeu}) {
        BOOST_TEST(end.recover(epoch, RecoveryPath::rdma, 1).has(Step::drain));
        finish(end, 1);
        BOOST_TEST(end.epoch() == epoch);
    }
    end.failed(2);
    BOOST_TEST(end.epoch() == 0xffffffffu);
    BOOST_TEST(end.recover(0xfffffffe, RecoveryPath::rdma, 2).empty());
    BOOST_TEST(end.recover(0, RecoveryPath::rdma, 2).empty()); /* newer: it drains */
    BOOST_TEST(end.epoch() == 0u);
    BOOST_TEST((end.drained(2) == (Step::send_recover | Step::rewire)));
    end.rewired(2);
    BOOST_TEST(end.recovered(0xffffffff, 2).empty());
    BOOST_TEST((end.recovered(0, 2) == Step::resume));
}

BOOST_AUTO_TEST_CASE(names)
{
    BOOST_TEST(to_string(RecoveryState::rewired) == std::string("rewired"));
    BOOST_TEST(to_string(static_cast<RecoveryState>(99)) == std::string("unknown"));
    BOOST_TEST(to_string(RecoveryPath::tcp) == std::string("tcp"));
    BOOST_TEST(to_string(static_cast<RecoveryPath>(99)) == std::string("unknown"));
    BOOST_TEST(to_string(RecoveryReason::timed_out) == std::string("timed out"));
    BOOST_TEST(to_string(static_cast<RecoveryReason>(99)) == std::string("unknown"));
}

BOOST_AUTO_TEST_SUITE_END()
