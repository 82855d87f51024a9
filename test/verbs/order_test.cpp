// SPDX-License-Identifier: BSD-3-Clause
//
// What comes first: data before its last byte, requests before those behind them, the error of one before the
// flushing of the others.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cstring>
#include <poll.h>
#include <vector>

using namespace softtest;

namespace {

constexpr uint32_t depth = 4;

// A chain of writes numbered from 1 of which the second one has a wrong key.
void post_with_a_bad_one(connected &pair)
{
    ibv_sge sge{reinterpret_cast<uint64_t>(pair.self.buffer), 8, pair.self.mr->lkey};
    std::vector<ibv_send_wr> chain(depth);
    for (uint32_t i = 0; i < depth; ++i) {
        chain[i]                     = {};
        chain[i].wr_id               = i + 1;
        chain[i].opcode              = IBV_WR_RDMA_WRITE;
        chain[i].send_flags          = (i == 0) ? 0u : unsigned{IBV_SEND_SIGNALED};
        chain[i].sg_list             = &sge;
        chain[i].num_sge             = 1;
        chain[i].wr.rdma.remote_addr = pair.other.where().memory + 64 * i;
        chain[i].wr.rdma.rkey        = pair.other.where().rkey ^ ((i == 1) ? 1 : 0);
        chain[i].next                = (i + 1 < depth) ? &chain[i + 1] : nullptr;
    }
    ibv_send_wr *bad = nullptr;
    BOOST_REQUIRE_EQUAL(ibv_post_send(pair.self.qp, chain.data(), &bad), 0);
}

int next_async(endpoint &self, double ms = patience_ms)
{
    pollfd entry{self.context->async_fd, POLLIN, 0};
    ibv_async_event event;
    if ((poll(&entry, 1, static_cast<int>(ms)) != 1) ||
        (verbs().get_async_event(self.context, &event) != 0)) {
        return -1;
    }
    verbs().ack_async_event(&event);
    return event.event_type;
}

} // namespace

BOOST_AUTO_TEST_SUITE(order)

BOOST_AUTO_TEST_CASE(requests_before_an_error_take_effect_and_those_behind_do_not)
{
    connected pair;
    for (uint64_t i = 0; i < depth; ++i) {
        pair.other.set_word(64 * i, 0);
    }
    pair.self.word(0) = 1;
    BOOST_REQUIRE_EQUAL(pair.self.post_receive(64, 0, 100), 0);
    post_with_a_bad_one(pair);
    // The first one was not signalled and worked: nothing is said of it.
    std::optional<ibv_wc> wc = pair.self.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->wr_id == 2u);
    BOOST_TEST(wc->status == IBV_WC_REM_ACCESS_ERR);
    BOOST_TEST(wc->qp_num == pair.self.qp->qp_num);
    std::vector<uint64_t> flushed;
    while ((flushed.size() < depth - 1) && (wc = pair.self.wait()).has_value()) {
        BOOST_TEST(wc->status == IBV_WC_WR_FLUSH_ERR);
        flushed.push_back(wc->wr_id);
    }
    // Sends among themselves are in order; the receive is anywhere.
    std::erase(flushed, 100u);
    BOOST_TEST(flushed == (std::vector<uint64_t>{3, 4}),
               boost::test_tools::per_element());
    BOOST_TEST(pair.other.word(0) == 1u);
    BOOST_TEST(pair.other.word(64) == 0u);
    BOOST_TEST(pair.other.word(128) == 0u);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_QP_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(last_byte_is_written_last)
{
    connected pair;
    for (uint32_t bytes : {9u, 64u, 4096u, 65536u}) {
        pair.other.set_word(buffer_bytes - 8, 0);
        pair.other.check_order(bytes, 50);
        for (uint32_t round = 1; round <= 50; ++round) {
            memset(pair.self.buffer, static_cast<int>(round), bytes);
            BOOST_REQUIRE_EQUAL(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), bytes),
                                int{IBV_WC_SUCCESS});
            // Until the other side has looked.
            double give_up = now_ms() + patience_ms;
            do {
                BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_READ, pair.other.where(),
                                                   8, buffer_bytes - 8),
                                    0);
                BOOST_REQUIRE_EQUAL(pair.self.wait_status(), int{IBV_WC_SUCCESS});
            } while ((pair.self.word(buffer_bytes - 8) != round) && (now_ms() < give_up));
        }
        BOOST_TEST(pair.other.order_result() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(retries_are_as_many_as_were_asked_for)
{
    options mine, theirs;
    mine.rnr_retry       = 2;
    theirs.min_rnr_timer = 28; // 163.84 ms
    connected pair(mine, theirs);
    double start = now_ms();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RNR_RETRY_EXC_ERR);
    double took = now_ms() - start;
    BOOST_TEST(took >= 2 * 160.0); // a kernel counts in ticks of up to 4 ms
    BOOST_TEST(took < 3 * 163.8);
}

BOOST_AUTO_TEST_CASE(queue_pair_that_hears_of_its_peer_first_says_so)
{
    endpoint self, other;
    BOOST_REQUIRE_EQUAL(self.connect(other.own_address()), 0);
    BOOST_REQUIRE_EQUAL(other.to_init(), 0);
    BOOST_REQUIRE_EQUAL(other.to_rtr(self.own_address()), 0);
    BOOST_REQUIRE_EQUAL(other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(other.post_receive(64), 0);
    for (int i = 0; i < 2; ++i) {
        BOOST_REQUIRE_EQUAL(self.send(8), 0);
        BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(other.wait_status() == IBV_WC_SUCCESS);
    }
    BOOST_TEST(next_async(other) == IBV_EVENT_COMM_EST);
    BOOST_TEST(next_async(other, 5) == -1); // once
}

BOOST_AUTO_TEST_CASE(drained_is_said_after_what_had_begun_has_ended)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED, 0, 1),
                        0); // finds no receive
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED, 0, 2), 0);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    attr.qp_state            = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr,
                                          IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
                        0);
    BOOST_TEST(next_async(pair.self, 5) == -1);
    BOOST_REQUIRE_EQUAL(verbs().query_qp(pair.self.qp, &attr, IBV_QP_STATE, &init), 0);
    BOOST_TEST(attr.sq_draining == 1);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    std::optional<ibv_wc> wc = pair.self.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->wr_id == 1u);
    BOOST_TEST(next_async(pair.self) == IBV_EVENT_SQ_DRAINED);
    BOOST_TEST(pair.self.silent(5)); // the second one waits
    BOOST_REQUIRE_EQUAL(verbs().query_qp(pair.self.qp, &attr, IBV_QP_STATE, &init), 0);
    BOOST_TEST(attr.sq_draining == 0);
    attr          = {};
    attr.qp_state = IBV_QPS_RTS;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
    wc = pair.self.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->wr_id == 2u);
}

BOOST_AUTO_TEST_CASE(reads_need_resources_on_both_sides)
{
    options none;
    none.rd_atomic = 0;
    {
        connected pair(none, options{});
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) ==
                   IBV_WC_LOC_QP_OP_ERR);
    }
    connected pair(options{}, none);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) ==
               IBV_WC_REM_INV_REQ_ERR);
}

BOOST_AUTO_TEST_SUITE_END()
