// SPDX-License-Identifier: BSD-3-Clause
//
// What is special where the device cannot reach other processes' memory by itself and asks them: they must run,
// and either side may go away in between. All other suites run there as well (relay.sh).
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

using namespace softtest;

namespace {

constexpr double least_ms = 100; // that an attempt is given

// Of the bytes of a buffer.
uint64_t sum(const endpoint &of, uint64_t length)
{
    uint64_t result = 0;
    for (uint64_t i = 0; i < length; ++i) {
        result += static_cast<unsigned char>(of.buffer[i]);
    }
    return result;
}

void number(endpoint &of, uint64_t seed)
{
    for (uint64_t i = 0; i < buffer_bytes; ++i) {
        of.buffer[i] = static_cast<char>((i * 31 + seed) >> 3);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(relay, *boost::unit_test::precondition(no_direct_access))

BOOST_AUTO_TEST_CASE(posting_does_not_wait_for_the_target)
{
    connected pair;
    pair.other.signal(SIGSTOP);
    double start = now_ms();
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(),
                                       buffer_bytes),
                        0);
    BOOST_TEST(now_ms() - start < least_ms);
    BOOST_TEST(pair.self.silent(20));
    pair.other.signal(SIGCONT);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(stopped_target_does_not_answer)
{
    for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        connected pair;
        pair.other.signal(SIGSTOP);
        double start = now_ms();
        BOOST_TEST(pair.rdma(opcode, pair.other.where(), 4096) == IBV_WC_RETRY_EXC_ERR);
        double took = now_ms() - start;
        BOOST_TEST(took >= least_ms * (pair.self.setup.retry_cnt + 1) - 1);
        BOOST_TEST(took < least_ms * (pair.self.setup.retry_cnt + 1) + 1000);
        pair.other.signal(SIGCONT);
        // What was given up is not done later.
        BOOST_TEST(pair.other.word(0) == 0u);
        BOOST_TEST(pair.other.state() == int{IBV_QPS_RTS});
    }
}

BOOST_AUTO_TEST_CASE(unreliable_service_loses_what_a_stopped_target_does_not_take)
{
    options wanted;
    wanted.type = IBV_QPT_UC;
    connected pair(wanted);
    pair.other.signal(SIGSTOP);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    pair.other.signal(SIGCONT);
    pair.self.word(0) = 3;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 3u);
}

BOOST_AUTO_TEST_CASE(target_that_dies_in_between_does_not_answer)
{
    for (int round = 0; round < 20; ++round) {
        connected pair;
        for (int i = 0; i < 4; ++i) {
            BOOST_REQUIRE_EQUAL(pair.other.post_receive(buffer_bytes), 0);
        }
        for (int i = 0; i < 4; ++i) {
            BOOST_REQUIRE_EQUAL(pair.self.send(buffer_bytes), 0);
        }
        if (round % 2) {
            pair.self.wait_status();
        }
        pair.other.kill();
        int status = IBV_WC_SUCCESS;
        for (int i = round % 2; (i < 4) && (status == IBV_WC_SUCCESS); ++i) {
            status = pair.self.wait_status();
        }
        // All of them may have been in time.
        bool in_time = status == IBV_WC_SUCCESS;
        BOOST_TEST(status == (in_time ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR));
    }
}

BOOST_AUTO_TEST_CASE(requester_that_dies_in_between_returns_the_receive)
{
    for (int round = 0; round < 20; ++round) {
        options wanted;
        wanted.shared_receives = true;
        connected pair(wanted);
        BOOST_REQUIRE_EQUAL(pair.self.post_receive(buffer_bytes, 0, 7), 0);
        BOOST_REQUIRE_EQUAL(pair.other.send(buffer_bytes), 0);
        pair.other.kill();
        // Either the message was complete, or the next one takes its receive.
        std::optional<ibv_wc> wc = pair.self.wait(50);
        if (wc.has_value()) {
            BOOST_TEST(wc->status == IBV_WC_SUCCESS);
            continue;
        }
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
        servant next;
        BOOST_REQUIRE_EQUAL(pair.self.connect(next.where()), 0);
        BOOST_REQUIRE_EQUAL(next.connect(pair.self.own_address()), 0);
        BOOST_REQUIRE_EQUAL(next.send(8), 0);
        wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->wr_id == 7u);
    }
}

BOOST_AUTO_TEST_CASE(receive_of_a_message_that_is_cut_off_is_flushed)
{
    for (int round = 0; round < 20; ++round) {
        connected pair;
        for (uint64_t i = 0; i < 4; ++i) {
            BOOST_REQUIRE_EQUAL(pair.self.post_receive(buffer_bytes, 0, i), 0);
        }
        BOOST_REQUIRE_EQUAL(pair.other.send(buffer_bytes), 0);
        pair.other.signal(SIGSTOP); // at whatever moment of it
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_ERR;
        BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
        for (uint64_t i = 0; i < 4; ++i) {
            std::optional<ibv_wc> wc = pair.self.wait();
            BOOST_REQUIRE(wc.has_value());
            BOOST_TEST(wc->wr_id == i);
            bool arrived = (i == 0) && (wc->status == IBV_WC_SUCCESS);
            BOOST_TEST(wc->status == (arrived ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR));
        }
        pair.other.signal(SIGCONT);
        BOOST_TEST(pair.self.silent(5));
    }
}

BOOST_AUTO_TEST_CASE(requests_given_up_leave_room_for_others)
{
    // More of them than there can be at a time, of a target that is stopped; then it lets go of them.
    connected pair;
    for (int i = 0; i < 1100; ++i) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
        BOOST_REQUIRE_EQUAL(pair.self.connect(pair.other.where()), 0);
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8), 0);
        if (i == 0) {
            pair.other.signal(SIGSTOP);
        }
    }
    pair.other.signal(SIGCONT);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(both_ways_at_once_nothing_is_lost)
{
    connected pair;
    number(pair.self, 5);
    uint64_t mine = sum(pair.self, buffer_bytes / 2);
    pair.other.start_writing(pair.self.own_address(), buffer_bytes / 4, 200);
    for (int i = 0; i < 100; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(),
                                           buffer_bytes / 2, buffer_bytes / 2),
                            0);
        BOOST_REQUIRE_EQUAL(pair.self.wait_status(), int{IBV_WC_SUCCESS});
    }
    BOOST_TEST(pair.other.writing_result() == 200u);
    number(pair.self, 5);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), buffer_bytes / 2) ==
               IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.sum(0, buffer_bytes / 2) == mine);
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_accessed_any_more_is_an_operational_error)
{
    for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        connected pair;
        BOOST_REQUIRE_EQUAL(pair.other.forbid(), 0);
        BOOST_TEST(pair.rdma(opcode, pair.other.where(), 4096) == IBV_WC_REM_OP_ERR);
        BOOST_TEST(pair.other.wait_async() == IBV_EVENT_QP_FATAL);
    }
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.forbid(), 0);
    BOOST_REQUIRE_EQUAL(pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(),
                                         0, 1, 0),
                        0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_OP_ERR);
}

BOOST_AUTO_TEST_CASE(deregistered_memory_is_not_written_any_more)
{
    for (int round = 0; round < 10; ++round) {
        connected pair;
        memset(pair.self.buffer, 0x55, buffer_bytes);
        for (int i = 0; i < 4; ++i) {
            BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(),
                                               buffer_bytes),
                                0);
        }
        pair.other.deregister();
        pair.other.set_word(buffer_bytes / 2, 1);
        pair.other.set_word(8, 1);
        int status = IBV_WC_SUCCESS;
        for (int i = 0; (i < 4) && (status == IBV_WC_SUCCESS); ++i) {
            status = pair.self.wait_status();
        }
        bool in_time = status == IBV_WC_SUCCESS;
        BOOST_TEST(status == (in_time ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR));
        BOOST_TEST(pair.other.word(buffer_bytes / 2) == 1u);
        BOOST_TEST(pair.other.word(8) == 1u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
