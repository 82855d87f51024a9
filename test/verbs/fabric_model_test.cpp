// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric model: times, shares of lines, pauses, drops, retries; and that bytes add up.
#include <boost/test/unit_test.hpp>

#include "fabric_bench.hpp"

#include <algorithm>

using namespace softtest;
using softrdma::message_request;
using softrdma::message_state;

namespace {

constexpr uint64_t packet    = 4096;
constexpr uint64_t packet_ns = 3277; // at 10 Gb/s

struct incast {
    uint64_t sent = 0, received = 0, dropped = 0, frames = 0, ns = 0;
    uint64_t last = 0; // delivery
    uint32_t over = 0; // messages that were delivered
};

// Everyone but port 0 sends it so many messages of so many bytes at the same time.
incast run_incast(fabric_bench &bench, uint32_t ports, uint32_t messages, uint64_t bytes)
{
    std::vector<uint32_t> sent;
    for (uint32_t port = 1; port < ports; ++port) {
        message_request request;
        request.flow       = bench.flow(port);
        request.timeout_ns = 1'000'000;
        request.retries    = 7;
        for (uint32_t i = 0; i < messages; ++i) {
            sent.push_back(bench.send(port, bytes, request));
        }
    }
    incast result;
    for (uint32_t message : sent) {
        uint64_t when = bench.delivered(message);
        result.over += when != 0;
        result.last = std::max(result.last, when);
    }
    for (uint32_t port = 1; port < ports; ++port) {
        result.sent += bench.counters(port).requester.xmit_bytes.value();
        result.frames += bench.counters(port).pause[0].rx_frames.value();
        result.ns += bench.counters(port).pause[0].rx_ns.value();
    }
    result.received = bench.counters(0).responder.rcv_bytes.value();
    result.dropped  = bench.counters(0).responder.dropped_bytes.value();
    return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(fabric_model)

BOOST_AUTO_TEST_CASE(without_settings_a_message_is_there_at_once)
{
    fabric_bench bench(2);
    BOOST_TEST(bench.delivered(bench.send(1, 1 << 20)) == bench.now);
}

BOOST_AUTO_TEST_CASE(a_packet_takes_both_lines_and_both_delays)
{
    fabric_bench bench(2);
    bench.shape("rate=10G delay=2us");
    uint64_t start = bench.now;
    BOOST_TEST(bench.delivered(bench.send(1, packet)) - start == 2 * packet_ns + 4000);
    BOOST_TEST(bench.counters(1).requester.xmit_packets.value() == 1u);
    BOOST_TEST(bench.counters(0).responder.rcv_bytes.value() == packet);
}

BOOST_AUTO_TEST_CASE(a_message_without_payload_is_a_packet)
{
    fabric_bench bench(2);
    bench.shape("rate=10G");
    uint64_t start = bench.now;
    BOOST_TEST(bench.delivered(bench.send(1, 0)) - start == 2 * 51u); // 64 bytes
    BOOST_TEST(bench.counters(0).responder.rcv_packets.value() == 1u);
    BOOST_TEST(bench.counters(0).responder.rcv_bytes.value() == 0u);
}

BOOST_AUTO_TEST_CASE(packets_follow_each_other_at_the_rate)
{
    fabric_bench bench(2);
    bench.shape("rate=10G");
    uint64_t start = bench.now;
    uint64_t took  = bench.delivered(bench.send(1, 256 * packet)) - start;
    BOOST_TEST(took == 257 * packet_ns); // the last waits for nobody at the second line
}

BOOST_AUTO_TEST_CASE(messages_of_a_flow_arrive_in_order)
{
    fabric_bench bench(2);
    bench.shape("rate=10G jitter=50us");
    message_request request;
    request.flow = bench.flow(1);
    std::vector<uint32_t> sent;
    for (int i = 0; i < 50; ++i) {
        sent.push_back(bench.send(1, 64, request));
    }
    std::vector<uint64_t> times;
    for (uint32_t message : sent) {
        times.push_back(bench.delivered(message));
    }
    BOOST_TEST(std::is_sorted(times.begin(), times.end()));
    BOOST_TEST(times.front() != 0u);
    BOOST_TEST(times.back() > bench.now - 100'000);
}

BOOST_AUTO_TEST_CASE(jitter_stays_within_its_bound)
{
    fabric_bench bench(2);
    bench.shape("delay=5us jitter=3us");
    uint64_t least = UINT64_MAX, most = 0;
    for (int i = 0; i < 200; ++i) {
        uint64_t start = bench.now;
        uint64_t took  = bench.delivered(bench.send(1, 64)) - start;
        least          = std::min(least, took);
        most           = std::max(most, took);
    }
    BOOST_TEST(least >= 10'000u); // two delays
    BOOST_TEST(most <= 16'000u); // and two jitters
    BOOST_TEST(most > least + 2000);
}

BOOST_AUTO_TEST_CASE(flows_of_a_port_take_turns)
{
    fabric_bench bench(3);
    bench.shape("rate=10G");
    uint64_t start = bench.now;
    uint32_t bulk  = bench.send(1, 1 << 20);
    uint32_t small = bench.send(1, 8);
    BOOST_TEST(bench.delivered(small) - start < 5 * packet_ns);
    BOOST_TEST(bench.delivered(bulk) - start > 256 * packet_ns);
}

BOOST_AUTO_TEST_CASE(a_full_buffer_pauses_the_senders_and_loses_nothing)
{
    fabric_bench bench(16);
    bench.shape("rate=10G buffer=256K");
    uint64_t start = bench.now;
    incast result  = run_incast(bench, 16, 4, 256 << 10);
    BOOST_TEST(result.over == 60u);
    BOOST_TEST(result.frames > 0u);
    BOOST_TEST(result.frames == bench.counters(0).pause[0].tx_frames.value());
    BOOST_TEST(result.ns == bench.counters(0).pause[0].tx_ns.value());
    BOOST_TEST(result.dropped == 0u);
    BOOST_TEST(result.sent == result.received);
    BOOST_TEST(result.received == uint64_t{60} << 18);
    // The line of the receiver never waits.
    uint64_t packets = result.received / packet;
    BOOST_TEST(result.last - start < (packets + 2) * packet_ns);
    BOOST_TEST(result.last - start >= packets * packet_ns);
}

BOOST_AUTO_TEST_CASE(without_pauses_a_full_buffer_drops_and_senders_repeat)
{
    fabric_bench bench(16);
    bench.shape("rate=10G buffer=256K pfc=off delay=1us");
    incast result = run_incast(bench, 16, 4, 256 << 10);
    BOOST_TEST(result.frames == 0u);
    BOOST_TEST(result.dropped > 0u);
    BOOST_TEST(result.sent == result.received + result.dropped);
    BOOST_TEST(result.sent > uint64_t{60} << 18); // some of it twice
    uint64_t repeats = 0, failed = 60 - result.over;
    for (uint32_t port = 1; port < 16; ++port) {
        repeats += bench.counters(port).requester.packet_seq_err.value() +
                   bench.counters(port).requester.local_ack_timeout_err.value();
    }
    BOOST_TEST(repeats > 0u);
    BOOST_TEST(failed < 60u);
    BOOST_TEST(bench.counters(0).responder.out_of_sequence.value() > 0u);
}

BOOST_AUTO_TEST_CASE(senders_get_equal_shares_of_an_incast)
{
    for (const char *words :
         {"rate=10G buffer=256K", "rate=10G buffer=64K xoff=48K xon=44K"}) {
        fabric_bench bench(9);
        bench.shape(words);
        std::vector<uint32_t> sent;
        for (uint32_t port = 1; port < 9; ++port) {
            sent.push_back(bench.send(port, 4 << 20));
        }
        bench.model.look(sent[0], bench.now + 8'000'000); // a part of what it takes
        std::vector<uint64_t> shares;
        for (uint32_t port = 1; port < 9; ++port) {
            shares.push_back(bench.counters(port).requester.xmit_bytes.value());
        }
        auto [least, most] = std::minmax_element(shares.begin(), shares.end());
        BOOST_TEST(*least > 0u);
        BOOST_TEST(double(*most) / double(*least) < 1.2, words);
    }
}

BOOST_AUTO_TEST_CASE(a_pause_stops_a_priority_and_not_the_others)
{
    fabric_bench bench(4);
    bench.shape("rate=10G buffer=64K");
    bench.send(1, 4 << 20);
    bench.send(2, 4 << 20);
    bench.model.look(1, bench.now += 1'000'000);
    BOOST_TEST(bench.counters(1).pause[0].rx_frames.value() > 0u);
    message_request victim, other;
    victim.to = other.to = 3;
    other.priority       = 1;
    uint64_t start       = bench.now;
    uint32_t stopped     = bench.send(1, 64, victim);
    uint32_t free        = bench.send(1, 64, other);
    BOOST_TEST(bench.delivered(free) - start <= 2 * packet_ns);
    // It waits for others' congestion, although its own way is free.
    BOOST_TEST(bench.delivered(stopped) - start > 2 * packet_ns);
    BOOST_TEST(bench.counters(1).pause[1].rx_frames.value() == 0u);
}

BOOST_AUTO_TEST_CASE(lost_packets_are_sent_again)
{
    fabric_bench bench(2);
    bench.shape("rate=10G delay=1us loss=1%");
    incast result = run_incast(bench, 2, 100, 64 << 10);
    BOOST_TEST(result.over == 100u);
    BOOST_TEST(result.dropped > 0u);
    BOOST_TEST(result.sent == result.received + result.dropped);
    BOOST_TEST(bench.counters(1).requester.packet_seq_err.value() > 0u);
}

BOOST_AUTO_TEST_CASE(a_lost_last_packet_waits_for_the_timer)
{
    fabric_bench bench(2);
    bench.shape("rate=10G loss=100%");
    message_request request;
    request.timeout_ns = 500'000;
    request.retries    = 3;
    uint64_t start     = bench.now;
    uint32_t message   = bench.send(1, 64, request);
    auto fate          = bench.fate(message);
    BOOST_TEST((fate.state == message_state::failed));
    BOOST_TEST(fate.when - start == 4 * 500'000u); // the first and three retries
    BOOST_TEST(bench.counters(1).requester.local_ack_timeout_err.value() == 3u);
}

BOOST_AUTO_TEST_CASE(an_unreliable_message_with_a_lost_packet_is_lost)
{
    fabric_bench bench(2);
    bench.shape("loss=50%");
    message_request request;
    request.reliable = false;
    int lost         = 0;
    for (int i = 0; i < 200; ++i) {
        lost += bench.fate(bench.send(1, 64, request)).state == message_state::lost;
    }
    BOOST_TEST(lost > 100); // either port loses half
    BOOST_TEST(lost < 190);
}

BOOST_AUTO_TEST_CASE(packets_out_of_sequence_cost_a_reliable_sender_a_retry)
{
    fabric_bench bench(2);
    bench.shape("rate=10G reorder=1%");
    incast result = run_incast(bench, 2, 50, 64 << 10);
    BOOST_TEST(result.over == 50u);
    BOOST_TEST(result.dropped == 0u);
    BOOST_TEST(result.sent == result.received);
    BOOST_TEST(result.sent > uint64_t{50} << 16);
    BOOST_TEST(bench.counters(0).responder.out_of_sequence.value() > 0u);
    BOOST_TEST(bench.counters(1).requester.packet_seq_err.value() > 0u);
}

BOOST_AUTO_TEST_CASE(datagrams_may_overtake_each_other)
{
    fabric_bench bench(2);
    bench.shape("rate=10G reorder=10%");
    message_request request;
    request.flow     = bench.flow(1);
    request.reliable = request.ordered = false;
    std::vector<uint32_t> sent;
    for (int i = 0; i < 100; ++i) {
        sent.push_back(bench.send(1, 64, request));
    }
    std::vector<uint64_t> times;
    for (uint32_t message : sent) {
        times.push_back(bench.delivered(message));
    }
    BOOST_TEST(!std::is_sorted(times.begin(), times.end()));
    BOOST_TEST(std::count(times.begin(), times.end(), 0u) == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_counts_retries_where_it_goes_to)
{
    fabric_bench bench(2);
    bench.shape("loss=100%");
    message_request request;
    request.answer     = true;
    request.timeout_ns = 1000;
    request.retries    = 1;
    bench.fate(bench.send(1, 64, request));
    BOOST_TEST(bench.counters(0).requester.local_ack_timeout_err.value() == 1u);
    BOOST_TEST(bench.counters(1).requester.local_ack_timeout_err.value() == 0u);
}

BOOST_AUTO_TEST_CASE(a_port_that_is_down_gets_nothing_and_times_out)
{
    fabric_bench bench(2);
    bench.shape("rate=10G");
    bench.counters(0).condition.store(softrdma::port_link_down);
    message_request request;
    request.timeout_ns = 1'000'000;
    request.retries    = 7;
    uint32_t message   = bench.send(1, 64 << 10, request);
    bench.model.look(message, bench.now += 2'500'000);
    BOOST_TEST(bench.counters(0).responder.rcv_bytes.value() == 0u);
    bench.counters(0).condition.store(0);
    BOOST_TEST(bench.delivered(message) != 0u);
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_who_asks_when)
{
    std::vector<uint64_t> seen[2];
    for (int often = 0; often < 2; ++often) {
        fabric_bench bench(6);
        bench.shape("rate=10G delay=1us buffer=64K loss=0.1% jitter=1us");
        std::vector<uint32_t> sent;
        for (uint32_t port = 1; port < 6; ++port) {
            message_request request;
            request.timeout_ns = 1'000'000;
            request.retries    = 7;
            sent.push_back(bench.send(port, 1 << 20, request));
        }
        for (int i = 0; i < 10000 * often; ++i) {
            bench.model.look(sent[i % 5], bench.now += 997);
        }
        bench.model.look(sent[0], 1'000'000'000);
        for (uint32_t message : sent) {
            seen[often].push_back(bench.model.look(message, 1'000'000'000).when);
        }
    }
    BOOST_TEST(seen[0] == seen[1], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_process_leaves_behind_is_reused)
{
    fabric_bench bench(3);
    bench.shape("rate=1M");
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i) {
            BOOST_TEST(bench.send(1, 100) != 0u);
            BOOST_TEST(bench.send(2, 100) != 0u);
        }
        bench.model.close_flows_of(1);
        bench.model.close_flows_of(2);
    }
    BOOST_TEST(bench.state->high_flow == 200u);
    BOOST_TEST(bench.state->high_message == 200u);
    BOOST_TEST(bench.state->active_count == 0u);
}

BOOST_AUTO_TEST_CASE(released_messages_leave_the_line_busy_and_then_no_trace)
{
    fabric_bench bench(2);
    bench.shape("rate=10G");
    message_request request;
    request.flow   = bench.flow(1);
    uint32_t first = bench.send(1, 10 * packet, request);
    bench.model.release(first);
    uint64_t start = bench.now;
    uint32_t next  = bench.send(1, packet, request);
    BOOST_TEST(bench.delivered(next) - start == 12 * packet_ns);
    bench.model.release(next);
    BOOST_TEST(bench.send(1, packet, request) == next);
    BOOST_TEST(bench.send(1, packet, request) == first);
}

BOOST_AUTO_TEST_CASE(too_many_messages_of_a_flow_have_to_wait)
{
    fabric_bench bench(2);
    bench.shape("rate=10G");
    message_request request;
    request.flow  = bench.flow(1);
    uint32_t last = 0, count = 0;
    while ((count < 100'000) && ((last = bench.send(1, 64, request)) != 0)) {
        ++count;
    }
    BOOST_TEST(count == 257u); // one is on the line
    bench.now += 1'000'000;
    BOOST_TEST(bench.send(1, 64, request) != 0u);
}

BOOST_AUTO_TEST_CASE(a_state_left_half_changed_is_repaired)
{
    fabric_bench bench(4);
    bench.shape("rate=10G");
    std::vector<uint32_t> sent;
    for (uint32_t port = 1; port < 4; ++port) {
        sent.push_back(bench.send(port, 1 << 20));
    }
    bench.state->ports[1].flows = 77; // nonsense, as of a writer that died
    bench.state->active_count   = 3;
    bench.state->active[1]      = 3;
    bench.model.recover(bench.now);
    for (uint32_t message : sent) {
        BOOST_TEST(bench.delivered(message) == bench.now);
    }
    BOOST_TEST(bench.delivered(bench.send(2, packet)) != 0u);
}

BOOST_AUTO_TEST_SUITE_END()
