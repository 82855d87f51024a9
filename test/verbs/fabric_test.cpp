// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric model under verbs, between processes.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "port_view.hpp"

#include <memory>
#include <numeric>

using namespace softtest;

namespace {

struct shaped : connected {
    explicit shaped(const std::string &words, const options &wanted = {}) :
        connected(wanted)
    {
        here.shape(words);
        there.shape(words);
    }

    ~shaped()
    {
        here.shape("off");
        here.fault("clear");
    }

    port_watch here{getpid()};
    port_watch there{other.pid()};
};

// Messages that may be on their way and lost.
options patient()
{
    options wanted;
    wanted.timeout   = 8; // 1 ms
    wanted.retry_cnt = 7;
    return wanted;
}

constexpr uint32_t kib = 1024;

} // namespace

BOOST_AUTO_TEST_SUITE(fabric, *boost::unit_test::precondition(on_software_device))

BOOST_AUTO_TEST_CASE(an_acknowledgement_takes_both_ways)
{
    shaped pair("delay=5ms");
    double start = now_ms();
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start >= 20); // two lines, there and back
    start = now_ms();
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start >= 20);
}

BOOST_AUTO_TEST_CASE(data_are_not_there_before_their_time)
{
    shaped pair("delay=50ms");
    pair.self.word(0) = 7;
    pair.other.set_word(0, 1);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    BOOST_TEST(pair.other.word(0) == 1u);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 7u);
}

BOOST_AUTO_TEST_CASE(delivery_does_not_need_polling)
{
    shaped pair("delay=2ms");
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS); // the sender only waits here
}

BOOST_AUTO_TEST_CASE(a_line_has_its_rate)
{
    shaped pair("rate=1G");
    double start = now_ms();
    for (int i = 0; i < 16; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(),
                                           256 * kib),
                            0);
    }
    for (int i = 0; i < 16; ++i) {
        BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    }
    double took = now_ms() - start;
    BOOST_TEST(took >= 33.5); // 4 MiB
    BOOST_TEST(took < 33.5 + 2000); // the machine may be busy
    BOOST_TEST(pair.here.change("port_xmit_bytes") == uint64_t{4} << 20);
    BOOST_TEST(pair.there.change("port_rcv_bytes") == uint64_t{4} << 20);
    BOOST_TEST(pair.there.change("port_rcv_packets") == 4096u); // the path's MTU is 1024
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_changed_by_a_lossy_fabric)
{
    shaped pair("rate=10G delay=10us jitter=20us loss=0.3% reorder=0.3%", patient());
    std::iota(pair.self.buffer, pair.self.buffer + 512 * kib, char{1});
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 512 * kib; ++i) {
        sum += static_cast<unsigned char>(pair.self.buffer[i]);
    }
    for (uint32_t i = 0; i < 32; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(),
                                           16 * kib, i * 16 * kib, IBV_SEND_SIGNALED, i),
                            0);
    }
    for (uint32_t i = 0; i < 32; ++i) {
        std::optional<ibv_wc> wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->status == IBV_WC_SUCCESS);
        BOOST_TEST(wc->wr_id == i);
    }
    BOOST_TEST(pair.other.sum(0, 512 * kib) == sum);
    BOOST_TEST(pair.here.change("port_xmit_bytes") ==
               pair.there.change("port_rcv_bytes") + pair.there.change("dropped_bytes"));
    BOOST_TEST(pair.here.change("packet_seq_err") +
                       pair.here.change("local_ack_timeout_err") >
               0u);
}

BOOST_AUTO_TEST_CASE(messages_arrive_in_order)
{
    shaped pair("rate=1G jitter=200us", patient());
    for (uint32_t i = 0; i < 50; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64, i * 64, i), 0);
    }
    for (uint64_t i = 0; i < 50; ++i) {
        pair.self.word(i * 8) = i;
        BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, i * 8), 0);
    }
    for (uint64_t i = 0; i < 50; ++i) {
        ibv_wc wc = pair.other.wait();
        BOOST_TEST(wc.status == IBV_WC_SUCCESS);
        BOOST_TEST(wc.wr_id == i);
        BOOST_TEST(pair.other.word(i * 64) == i);
    }
}

BOOST_AUTO_TEST_CASE(reads_and_atomics_count_where_their_data_leave)
{
    shaped pair("rate=10G");
    pair.other.set_word(0, 41);
    BOOST_REQUIRE_EQUAL(pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(),
                                         0, 1, 0),
                        0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.word(0) == 41u);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.word(0) == 42u);
    BOOST_TEST(pair.there.change("port_xmit_bytes") == 16u);
    BOOST_TEST(pair.here.change("port_rcv_bytes") == 16u);
    BOOST_TEST(pair.here.change("port_xmit_packets") == 2u);
    BOOST_TEST(pair.here.change("port_xmit_bytes") == 0u);
}

BOOST_AUTO_TEST_CASE(a_missing_receive_is_found_out_at_arrival_and_retried)
{
    options wanted;
    wanted.min_rnr_timer = 20; // 10 ms
    shaped pair("delay=1ms", wanted);
    pair.other.set_word(64, 0);
    pair.self.word(64) = 3;
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED, 0, 1), 0);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 64,
                                       IBV_SEND_SIGNALED, 2),
                        0);
    BOOST_TEST(pair.self.silent(30));
    BOOST_TEST(pair.other.word(64) == 0u); // behind one that waits
    BOOST_TEST(pair.here.change("rnr_nak_retry_err") >= 1u);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_TEST(pair.self.wait()->wr_id == 1u);
    BOOST_TEST(pair.self.wait()->wr_id == 2u);
    BOOST_TEST(pair.other.word(64) == 3u);
}

BOOST_AUTO_TEST_CASE(without_retries_a_missing_receive_is_an_error)
{
    options wanted;
    wanted.rnr_retry = 0;
    shaped pair("delay=100us", wanted);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RNR_RETRY_EXC_ERR);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_WR_FLUSH_ERR);
}

BOOST_AUTO_TEST_CASE(loss_without_end_exhausts_the_retries)
{
    options wanted;
    wanted.timeout   = 10; // 4.2 ms
    wanted.retry_cnt = 3;
    shaped pair("loss=100%", wanted);
    double start = now_ms();
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) ==
               IBV_WC_RETRY_EXC_ERR);
    BOOST_TEST(now_ms() - start >= 4 * 4.19);
    BOOST_TEST(pair.here.change("local_ack_timeout_err") == 3u);
    BOOST_TEST(pair.here.change("req_transport_retries_exceeded") == 1u);
    BOOST_TEST(pair.there.change("dropped_packets") == 4u);
}

BOOST_AUTO_TEST_CASE(an_unreliable_message_is_lost_in_silence)
{
    options wanted;
    wanted.type = IBV_QPT_UC;
    shaped pair("loss=100%", wanted);
    pair.self.word(0) = 9;
    pair.other.set_word(0, 1);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 1u);
}

BOOST_AUTO_TEST_CASE(a_link_that_is_down_is_survived_by_what_is_on_its_way)
{
    options wanted;
    wanted.timeout   = 12; // 16.8 ms
    wanted.retry_cnt = 7;
    shaped pair("rate=1G delay=100us", wanted);
    BOOST_TEST(pair.there.fault("link-down for=3ms") == 1);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 64 * kib) ==
               IBV_WC_SUCCESS);
    BOOST_TEST(pair.there.fault("link-down") == 1);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) ==
               IBV_WC_RETRY_EXC_ERR);
}

BOOST_AUTO_TEST_CASE(it_can_be_switched_off_while_messages_travel)
{
    shaped pair("delay=20ms");
    for (uint64_t i = 1; i <= 8; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                           IBV_SEND_SIGNALED, i),
                            0);
    }
    pair.here.shape("off");
    pair.there.shape("off");
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                       IBV_SEND_SIGNALED, 9),
                        0);
    for (uint64_t i = 1; i <= 9; ++i) {
        std::optional<ibv_wc> wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->wr_id == i);
        BOOST_TEST(wc->status == IBV_WC_SUCCESS);
    }
}

BOOST_AUTO_TEST_CASE(what_travels_is_flushed_with_its_queue_pair)
{
    shaped pair("delay=1s");
    for (uint64_t i = 1; i <= 4; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, i), 0);
    }
    BOOST_TEST(pair.here.fault("qp-error qpn=" + std::to_string(pair.self.qp->qp_num)) ==
               1);
    for (uint64_t i = 1; i <= 4; ++i) {
        std::optional<ibv_wc> wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->status == IBV_WC_WR_FLUSH_ERR);
        BOOST_TEST(wc->wr_id == i);
    }
}

BOOST_AUTO_TEST_CASE(a_sender_that_dies_leaves_nothing_behind)
{
    for (int i = 0; i < 20; ++i) {
        connected pair;
        port_watch there(pair.other.pid());
        there.shape("rate=100M");
        pair.other.start_writing(pair.self.own_address(), 512 * kib, 1000);
        double give_up = now_ms() + patience_ms;
        while ((there.value("port_xmit_bytes") == 0) && (now_ms() < give_up)) {
        }
        BOOST_TEST(there.value("port_xmit_bytes") > 0u);
        pair.other.kill();
    }
    shaped next("rate=10G");
    BOOST_TEST(next.rdma(IBV_WR_RDMA_WRITE, next.other.where(), 8) == IBV_WC_SUCCESS);
}

namespace {

struct totals {
    uint64_t sent = 0, received = 0, dropped = 0, frames = 0, ns = 0, caused_frames = 0,
             caused_ns = 0, repeats = 0;
    double ms         = 0;
    uint64_t finished = 0;
};

// Fifteen processes write to one at the same time.
totals run_incast(const std::string &words, uint32_t messages)
{
    constexpr int senders = 15;
    std::vector<std::unique_ptr<connected>> pairs;
    std::vector<port_watch> ports;
    port_watch here(getpid());
    here.shape(words);
    for (int i = 0; i < senders; ++i) {
        pairs.push_back(std::make_unique<connected>(patient()));
        ports.emplace_back(pairs.back()->other.pid());
        ports.back().shape(words);
    }
    double start = now_ms();
    for (auto &pair : pairs) {
        pair->other.start_writing(pair->self.own_address(), 256 * kib, messages);
    }
    totals sum;
    for (auto &pair : pairs) {
        sum.finished += pair->other.writing_result();
    }
    sum.ms = now_ms() - start;
    for (port_watch &port : ports) {
        sum.sent += port.change("port_xmit_bytes");
        sum.frames += port.change("rx_prio0_pause");
        sum.ns += port.change("rx_prio0_pause_ns");
        sum.repeats += port.change("packet_seq_err") +
                       port.change("local_ack_timeout_err");
    }
    sum.received      = here.change("port_rcv_bytes");
    sum.dropped       = here.change("dropped_bytes");
    sum.caused_frames = here.change("tx_prio0_pause");
    sum.caused_ns     = here.change("tx_prio0_pause_ns");
    here.shape("off");
    return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(incast_pauses_the_senders_and_adds_up)
{
    totals sum = run_incast("rate=10G delay=1us buffer=256K", 16);
    BOOST_TEST(sum.finished == 15u * 16);
    BOOST_TEST(sum.frames > 0u);
    BOOST_TEST(sum.ns > 0u);
    BOOST_TEST(sum.frames == sum.caused_frames);
    BOOST_TEST(sum.ns == sum.caused_ns);
    BOOST_TEST(sum.dropped == 0u);
    BOOST_TEST(sum.sent == sum.received);
    BOOST_TEST(sum.received == 15u * 16 * 256 * kib);
    BOOST_TEST(sum.ms >= 50.3); // 60 MiB through one line of 10 Gb/s
}

BOOST_AUTO_TEST_CASE(incast_without_pauses_drops_repeats_and_adds_up)
{
    totals sum = run_incast("rate=10G delay=1us buffer=256K pfc=off", 16);
    BOOST_TEST(sum.frames == 0u);
    BOOST_TEST(sum.dropped > 0u);
    BOOST_TEST(sum.repeats > 0u);
    BOOST_TEST(sum.sent == sum.received + sum.dropped);
    BOOST_TEST(sum.received >= sum.finished * 256 * kib);
}

BOOST_AUTO_TEST_SUITE_END()
