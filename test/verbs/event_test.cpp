// SPDX-License-Identifier: BSD-3-Clause
//
// Completion channels and asynchronous events.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <atomic>
#include <cerrno>
#include <thread>

using namespace softtest;

BOOST_AUTO_TEST_SUITE(event)

BOOST_AUTO_TEST_CASE(armed_queue_wakes_once)
{
    connected pair;
    for (int i = 0; i < 3; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(!pair.other.wait_event(20)); // not armed
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    pair.other.arm(false);
    BOOST_TEST(!pair.other.wait_event(20)); // what was polled does not count
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait_event());
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(!pair.other.wait_event(20)); // one event for one request
}

// Who polls, finds nothing, arms and sleeps must not sleep over what came in between.
BOOST_AUTO_TEST_CASE(what_was_not_polled_wakes_when_armed)
{
    connected pair;
    for (int i = 0; i < 2; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(!pair.other.wait_event(20));
    pair.other.arm(true);
    BOOST_TEST(!pair.other.wait_event(20)); // it was not solicited
    pair.other.arm(false);
    BOOST_TEST(pair.other.wait_event());
    BOOST_TEST(!pair.other.wait_event(20)); // one event for one request
}

BOOST_AUTO_TEST_CASE(solicited_only)
{
    connected pair;
    for (int i = 0; i < 3; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    pair.other.arm(true);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(!pair.other.wait_event(20));
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
    BOOST_TEST(pair.other.wait_event());
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    }
    // An error is always worth an event.
    pair.other.arm(true);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    BOOST_REQUIRE_EQUAL(pair.self.post(wr, 100, 0), 0); // longer than the receive
    BOOST_TEST(pair.other.wait_event());
}

BOOST_AUTO_TEST_CASE(own_completions_wake_too)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.self.cq, 0), 0);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    ibv_cq *cq;
    void *cookie;
    BOOST_REQUIRE(readable(pair.self.channel->fd));
    BOOST_REQUIRE_EQUAL(verbs().get_cq_event(pair.self.channel, &cq, &cookie), 0);
    BOOST_TEST(cq == pair.self.cq);
    BOOST_TEST(cookie == &pair.self);
    verbs().ack_cq_events(cq, 1);
    errno = 0;
    BOOST_TEST(verbs().get_cq_event(pair.self.channel, &cq, &cookie) == -1);
    BOOST_TEST(errno == EAGAIN);
}

BOOST_AUTO_TEST_CASE(destruction_waits_for_the_acknowledgement)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.self.cq, 0), 0);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    ibv_cq *cq;
    void *cookie;
    BOOST_REQUIRE(readable(pair.self.channel->fd));
    BOOST_REQUIRE_EQUAL(verbs().get_cq_event(pair.self.channel, &cq, &cookie), 0);

    BOOST_TEST(verbs().destroy_cq(pair.self.cq) == EBUSY); // a queue pair uses it
    BOOST_REQUIRE_EQUAL(verbs().destroy_qp(pair.self.qp), 0);
    std::atomic<bool> acknowledged{false}, in_time{false};
    std::thread destroyer([&] {
        BOOST_CHECK_EQUAL(verbs().destroy_cq(cq), 0);
        in_time = acknowledged.load();
    });
    // The thread may not even have begun: the order is checked by what it saw when it was done.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    acknowledged = true;
    verbs().ack_cq_events(cq, 1);
    destroyer.join();
    BOOST_TEST(in_time.load());

    // For the endpoint's own clean-up.
    pair.self.cq = verbs().create_cq(pair.self.context, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = pair.self.cq;
    attr.qp_type                = IBV_QPT_RC;
    pair.self.qp                = verbs().create_qp(pair.self.pd, &attr);
    BOOST_REQUIRE(pair.self.qp != nullptr);
}

BOOST_AUTO_TEST_CASE(limit_of_a_shared_receive_queue_fires_once)
{
    options wanted;
    wanted.shared_receives = true;
    connected pair(wanted);
    for (int i = 0; i < 6; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.other.set_limit(4), 0);
    for (int i = 0; i < 2; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    }
    BOOST_TEST(pair.other.wait_async(20) == -1); // four are left: not below
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_SRQ_LIMIT_REACHED);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait_async(20) == -1); // until it is set again
    BOOST_TEST(pair.other.set_limit(1000) == EINVAL);
}

BOOST_AUTO_TEST_CASE(queue_pair_of_a_shared_queue_says_when_it_takes_no_more)
{
    options wanted;
    wanted.shared_receives = true;
    connected pair(wanted);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
    ibv_async_event event;
    BOOST_REQUIRE_EQUAL(verbs().get_async_event(pair.self.context, &event), 0);
    BOOST_TEST(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
    BOOST_TEST(event.element.qp == pair.self.qp);
    verbs().ack_async_event(&event);
}

BOOST_AUTO_TEST_CASE(overrun_is_reported)
{
    options wanted;
    wanted.cqe        = 16;
    wanted.send_depth = 64;
    connected pair(wanted);
    for (int i = 0; i < 17; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    }
    ibv_async_event event;
    double give_up = now_ms() + patience_ms;
    while ((verbs().get_async_event(pair.self.context, &event) != 0) &&
           (now_ms() < give_up)) {
        std::this_thread::yield();
    }
    BOOST_TEST(event.event_type == IBV_EVENT_CQ_ERR);
    BOOST_TEST(event.element.cq == pair.self.cq);
    verbs().ack_async_event(&event);
    // It takes the queue pairs down that complete there.
    while ((verbs().get_async_event(pair.self.context, &event) != 0) &&
           (now_ms() < give_up)) {
        std::this_thread::yield();
    }
    BOOST_TEST(event.event_type == IBV_EVENT_QP_FATAL);
    BOOST_TEST(event.element.qp == pair.self.qp);
    verbs().ack_async_event(&event);
    BOOST_TEST(pair.self.state() == IBV_QPS_ERR);
    for (int i = 0; i < 16; ++i) {
        BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    }
    ibv_wc wc;
    BOOST_TEST(ibv_poll_cq(pair.self.cq, 1, &wc) < 0);
}

BOOST_AUTO_TEST_SUITE_END()
