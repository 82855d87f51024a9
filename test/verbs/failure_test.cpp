// SPDX-License-Identifier: BSD-3-Clause
//
// RNR, silence, death, flushing, and who may talk to whom.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <csignal>

using namespace softtest;

namespace {

// 4.096 us * 2^timeout, for each attempt.
double retry_ms(const options &setup)
{
    return 4.096e-3 * double(1u << setup.timeout) * (setup.retry_cnt + 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(failure)

BOOST_AUTO_TEST_CASE(no_receive_and_no_retry_fails_at_once)
{
    options wanted;
    wanted.rnr_retry = 0;
    connected pair(wanted, wanted);
    double start = now_ms();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    std::optional<ibv_wc> wc = pair.self.wait(0.0);
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->status == IBV_WC_RNR_RETRY_EXC_ERR);
    BOOST_TEST(now_ms() - start < 100);
    BOOST_TEST(pair.self.state() == IBV_QPS_ERR);
    BOOST_TEST(pair.other.state() == int{IBV_QPS_RTS}); // the responder did nothing wrong
}

BOOST_AUTO_TEST_CASE(retries_take_the_responders_timer)
{
    options mine, theirs;
    mine.rnr_retry       = 3;
    mine.min_rnr_timer   = 1; // 10 us, and must not matter
    theirs.min_rnr_timer = 24; // 40.96 ms
    connected pair(mine, theirs);
    double start = now_ms();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RNR_RETRY_EXC_ERR);
    BOOST_TEST(now_ms() - start >= 3 * 40.9);
}

BOOST_AUTO_TEST_CASE(a_receive_that_comes_late_is_found_without_polling)
{
    connected pair; // rnr_retry 7: for ever
    pair.other.post_receive_later(64, 50);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(requests_wait_behind_one_that_waits)
{
    connected pair;
    pair.other.set_word(0, 0);
    pair.self.word(0) = 9;
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED, 0, 1), 0);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                       IBV_SEND_SIGNALED, 2),
                        0);
    BOOST_TEST(pair.self.silent(20));
    BOOST_TEST(pair.other.word(0) == 0u);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64, 64), 0);
    BOOST_TEST(pair.self.wait()->wr_id == 1u);
    BOOST_TEST(pair.self.wait()->wr_id == 2u);
    BOOST_TEST(pair.other.word(0) == 9u);
}

BOOST_AUTO_TEST_CASE(dead_peer_exhausts_the_retries_in_their_time)
{
    for (bool used : {false, true}) {
        connected pair;
        if (used) {
            // The segment of the dead process is mapped, and has receives to offer.
            BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
            BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
            BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
            BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
        }
        pair.other.kill();
        double start = now_ms();
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                           IBV_SEND_SIGNALED, 1),
                            0);
        BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, 2), 0);
        std::optional<ibv_wc> first = pair.self.wait();
        double took                 = now_ms() - start;
        BOOST_REQUIRE(first.has_value());
        BOOST_TEST(first->status == IBV_WC_RETRY_EXC_ERR);
        BOOST_TEST(first->wr_id == 1u);
        BOOST_TEST(took >= retry_ms(pair.self.setup) - 1);
        BOOST_TEST(took < retry_ms(pair.self.setup) + 1000);
        // Flushed although it was not signalled.
        std::optional<ibv_wc> second = pair.self.wait();
        BOOST_REQUIRE(second.has_value());
        BOOST_TEST(second->status == IBV_WC_WR_FLUSH_ERR);
        BOOST_TEST(second->wr_id == 2u);
    }
}

BOOST_AUTO_TEST_CASE(death_is_noticed_even_if_small_sends_would_find_receives)
{
    connected pair;
    for (int i = 0; i < 60; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    pair.other.kill();
    // At most what was on its way may still succeed; the service thread sees the death in its time.
    double give_up = now_ms() + patience_ms;
    int status     = IBV_WC_SUCCESS;
    for (int i = 0; (i < 50) && (status == IBV_WC_SUCCESS) && (now_ms() < give_up); ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
        status = pair.self.wait_status();
        BOOST_TEST(pair.self.silent(1));
    }
    BOOST_TEST(status == IBV_WC_RETRY_EXC_ERR);
}

BOOST_AUTO_TEST_CASE(silent_peer_is_waited_for)
{
    // The other queue pair gets ready while this one retries.
    options wanted;
    wanted.timeout   = 15; // 134 ms
    wanted.retry_cnt = 7;
    endpoint self(wanted);
    servant other(wanted);
    BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
    BOOST_REQUIRE_EQUAL(self.rdma(IBV_WR_RDMA_WRITE, other.where(), 8), 0);
    BOOST_TEST(self.silent(20));
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(queue_pair_connected_elsewhere_does_not_answer)
{
    for (int fault = 0; fault < 4; ++fault) {
        options mine;
        mine.retry_cnt = 0;
        if (fault == 3) {
            mine.sq_psn = 78; // the responder expects 77
        }
        endpoint self(mine), stranger;
        servant other;
        address target = other.where();
        if (fault == 1) {
            target.lid = 9; // no such device
            target.gid.raw[15] ^= 0x40;
        } else if (fault == 2) {
            target.number += 1; // no such queue pair
        }
        BOOST_REQUIRE_EQUAL(self.connect(target), 0);
        BOOST_REQUIRE_EQUAL(other.connect((fault == 0) ? stranger.own_address() :
                                                         self.own_address()),
                            0);
        BOOST_REQUIRE_EQUAL(self.rdma(IBV_WR_RDMA_WRITE, other.where(), 8), 0);
        BOOST_TEST(self.wait_status() == IBV_WC_RETRY_EXC_ERR);
    }
}

BOOST_AUTO_TEST_CASE(error_state_flushes_in_order)
{
    connected pair;
    for (uint64_t i = 1; i <= 3; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.post_receive(64, 0, 100 + i), 0);
        BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, i), 0); // no receive there: they wait
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
    // What is posted later is flushed too.
    BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, 4), 0);
    BOOST_REQUIRE_EQUAL(pair.self.post_receive(64, 0, 104), 0);
    uint64_t next_send = 1, next_receive = 101;
    for (int i = 0; i < 8; ++i) {
        std::optional<ibv_wc> wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->status == IBV_WC_WR_FLUSH_ERR);
        BOOST_TEST(wc->wr_id == ((wc->wr_id > 100) ? next_receive++ : next_send++));
    }
    BOOST_TEST(next_send == 5u);
    BOOST_TEST(next_receive == 105u);
    BOOST_TEST(pair.self.silent(5));
}

BOOST_AUTO_TEST_CASE(reset_queue_pair_connects_again)
{
    connected pair;
    pair.other.kill();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RETRY_EXC_ERR);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);

    servant next;
    BOOST_REQUIRE_EQUAL(pair.self.connect(next.where()), 0);
    BOOST_REQUIRE_EQUAL(next.connect(pair.self.own_address()), 0);
    BOOST_REQUIRE_EQUAL(next.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(next.wait().status == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_SUITE_END()
