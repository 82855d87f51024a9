// SPDX-License-Identifier: BSD-3-Clause
//
// Faults on command, between processes.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "port_view.hpp"
#include "site.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

using namespace softtest;

namespace {

struct faulty : connected {
    using connected::connected;
    port_watch here{getpid()};
    port_watch there{other.pid()};

    // Faults of this process must not outlast their test.
    ~faulty()
    {
        here.fault("clear");
    }

    int async_event()
    {
        pollfd entry{self.context->async_fd, POLLIN, 0};
        ibv_async_event event;
        if ((poll(&entry, 1, static_cast<int>(patience_ms)) != 1) ||
            (verbs().get_async_event(self.context, &event) != 0)) {
            return -1;
        }
        verbs().ack_async_event(&event);
        return event.event_type;
    }

    int write()
    {
        return rdma(IBV_WR_RDMA_WRITE, other.where(), 8);
    }
};

ibv_port_state port_state(ibv_context *context)
{
    ibv_port_attr port{};
    BOOST_REQUIRE_EQUAL(verbs_get_ctx_op(context, query_port)
                                ->query_port(context, 1, &port, sizeof(port)),
                        0);
    return port.state;
}

// The shortest time in which all retries can be used up.
double retry_ms(const options &setup)
{
    return 4.096e-3 * double(1u << setup.timeout) * (setup.retry_cnt + 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(fault, *boost::unit_test::precondition(on_software_device))

BOOST_AUTO_TEST_CASE(queue_pair_fails_with_an_event)
{
    faulty pair;
    BOOST_REQUIRE_EQUAL(pair.self.post_receive(64), 0);
    std::string qpn = std::to_string(pair.self.qp->qp_num);
    BOOST_TEST(pair.here.fault("qp-error qpn=" + qpn) == 1);
    BOOST_TEST(pair.async_event() == IBV_EVENT_QP_FATAL);
    BOOST_TEST(pair.self.state() == IBV_QPS_ERR);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_WR_FLUSH_ERR);
    BOOST_TEST(pair.write() == IBV_WC_WR_FLUSH_ERR);
    BOOST_TEST(pair.here.fault("qp-error qpn=" + qpn) == 0); // it is so already
    BOOST_TEST(pair.other.state() == int{IBV_QPS_RTS}); // hears nothing of it
}

BOOST_AUTO_TEST_CASE(queue_pair_of_the_peer_fails)
{
    faulty pair;
    BOOST_TEST(pair.there.fault("qp-error qpn=all") == 1);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_QP_FATAL);
    BOOST_TEST(pair.other.state() == int{IBV_QPS_ERR});
    double start = now_ms();
    BOOST_TEST(pair.write() == IBV_WC_RETRY_EXC_ERR);
    BOOST_TEST(now_ms() - start >= retry_ms(pair.self.setup) - 1);
}

BOOST_AUTO_TEST_CASE(link_down_exhausts_the_retries_of_both_sides)
{
    for (bool own : {true, false}) {
        faulty pair;
        BOOST_TEST((own ? pair.here : pair.there).fault("link-down") == 1);
        int event = own ? pair.async_event() : pair.other.wait_async();
        BOOST_TEST(event == IBV_EVENT_PORT_ERR);
        BOOST_TEST((own ? pair.here : pair.there).state() == "down");
        if (own) {
            BOOST_TEST(port_state(pair.self.context) == IBV_PORT_DOWN);
        }
        double start = now_ms();
        BOOST_TEST(pair.write() == IBV_WC_RETRY_EXC_ERR);
        BOOST_TEST(now_ms() - start >= retry_ms(pair.self.setup) - 1);

        BOOST_TEST((own ? pair.here : pair.there).fault("link-up") == 1);
        event = own ? pair.async_event() : pair.other.wait_async();
        BOOST_TEST(event == IBV_EVENT_PORT_ACTIVE);
        BOOST_TEST(port_state(pair.self.context) == IBV_PORT_ACTIVE);
    }
}

BOOST_AUTO_TEST_CASE(a_short_outage_is_survived)
{
    options wanted;
    wanted.timeout   = 14; // 67 ms, eight times
    wanted.retry_cnt = 7;
    faulty pair(wanted);
    BOOST_TEST(pair.there.fault("link-down for=30ms") == 1);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_PORT_ERR);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_PORT_ACTIVE);
    BOOST_TEST(pair.here.change("local_ack_timeout_err") >= 1u);
}

BOOST_AUTO_TEST_CASE(a_fault_can_be_scheduled)
{
    faulty pair;
    double start = now_ms();
    BOOST_TEST(pair.here.fault("link-down after=40ms for=40ms") == 1);
    BOOST_TEST(pair.here.state() == "active");
    BOOST_TEST(pair.async_event() == IBV_EVENT_PORT_ERR);
    BOOST_TEST(now_ms() - start >= 40);
    BOOST_TEST(pair.async_event() == IBV_EVENT_PORT_ACTIVE);
    BOOST_TEST(now_ms() - start >= 80);
}

BOOST_AUTO_TEST_CASE(events_do_not_reach_who_has_closed_the_device)
{
    faulty pair;
    std::atomic<bool> over{false};
    std::thread trouble([&] {
        while (!over) {
            pair.here.fault("link-down");
            pair.here.fault("link-up");
        }
    });
    uint64_t strays = 0;
    for (int i = 0; i < 500; ++i) {
        ibv_context *context = open_device(where_we_are().own_device);
        verbs().close_device(context);
        int pipe[2]; // gets the numbers that have become free
        BOOST_REQUIRE_EQUAL(pipe2(pipe, O_NONBLOCK), 0);
        std::this_thread::yield();
        char byte;
        strays += read(pipe[0], &byte, 1) == 1;
        close(pipe[0]);
        close(pipe[1]);
    }
    over = true;
    trouble.join();
    BOOST_TEST(strays == 0u);
}

BOOST_AUTO_TEST_CASE(removed_device_is_fatal)
{
    // In the servant, since there is no way back.
    faulty pair;
    int before = pair.other.listed_devices();
    BOOST_TEST(pair.there.fault("device-removed") == 1);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_DEVICE_FATAL);
    BOOST_TEST(pair.there.state() == "removed");
    BOOST_TEST(pair.other.state() == int{IBV_QPS_ERR});
    BOOST_TEST(pair.other.send(8) == 0);
    BOOST_TEST(pair.other.wait().status == IBV_WC_WR_FLUSH_ERR);
    BOOST_TEST(pair.other.create_objects() == EIO);
    BOOST_TEST(pair.other.listed_devices() == before - 1);
    BOOST_TEST(pair.write() == IBV_WC_RETRY_EXC_ERR);
}

// What the device has acknowledged has arrived, and whoever lost the device still gets it.
BOOST_AUTO_TEST_CASE(what_arrived_before_the_removal_can_be_polled)
{
    faulty pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_TEST(pair.there.fault("completion-delay delay=100s") == 1);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.there.fault("device-removed") == 1);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_DEVICE_FATAL);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(stalled_process_does_not_poll_but_its_device_works)
{
    faulty pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    double start = now_ms();
    BOOST_TEST(pair.there.fault("stall for=150ms") == 1);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS); // one-sided
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start < 150);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start >= 150);
}

BOOST_AUTO_TEST_CASE(completions_come_late)
{
    faulty pair;
    BOOST_TEST(pair.here.fault("completion-delay delay=50ms") == 1);
    double start = now_ms();
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start >= 50);
    BOOST_TEST(pair.here.fault("clear") == 1);
    start = now_ms();
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS);
    BOOST_TEST(now_ms() - start < 50);
}

BOOST_AUTO_TEST_CASE(late_completions_wake_who_sleeps)
{
    faulty pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_TEST(pair.there.fault("completion-delay delay=50ms") == 1);
    pair.other.arm(false);
    double start = now_ms();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.other.wait_event()); // something came, but cannot be polled yet
    BOOST_TEST(pair.other.silent(0));
    pair.other.arm(false);
    BOOST_TEST(pair.other.wait_event());
    BOOST_TEST(now_ms() - start >= 50);
    BOOST_TEST(pair.other.wait(0).status == IBV_WC_SUCCESS);
}

// What completed before a queue pair was put into the error state can be polled when that is done.
BOOST_AUTO_TEST_CASE(late_completions_do_not_outlast_an_error)
{
    faulty pair;
    BOOST_REQUIRE_EQUAL(pair.self.post_receive(64), 0);
    BOOST_TEST(pair.here.fault("completion-delay delay=20s") == 1);
    BOOST_REQUIRE_EQUAL(pair.other.send(8), 0);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    ibv_wc completion;
    BOOST_TEST(ibv_poll_cq(pair.self.cq, 1, &completion) == 0);
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &error, IBV_QP_STATE), 0);
    BOOST_REQUIRE_EQUAL(ibv_poll_cq(pair.self.cq, 1, &completion), 1);
    BOOST_TEST(completion.status == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(receives_are_refused)
{
    options wanted;
    wanted.min_rnr_timer = 1;
    faulty pair(wanted);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_TEST(pair.there.fault("no-receives count=3") == 1);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS); // needs none
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.here.change("rnr_nak_retry_err") == 3u);
    BOOST_TEST(pair.there.change("out_of_buffer") == 3u);

    options strict;
    strict.rnr_retry = 0;
    faulty other(strict);
    BOOST_REQUIRE_EQUAL(other.other.post_receive(64), 0);
    BOOST_TEST(other.there.fault("no-receives") == 1);
    BOOST_REQUIRE_EQUAL(other.self.send(8), 0);
    BOOST_TEST(other.self.wait_status() == IBV_WC_RNR_RETRY_EXC_ERR);
}

BOOST_AUTO_TEST_CASE(flipped_bits_cost_a_retry_and_no_data)
{
    faulty pair;
    pair.self.word(0) = 0x1122334455667788;
    BOOST_TEST(pair.there.fault("bit-flip count=2") == 1);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 0x1122334455667788u);
    BOOST_TEST(pair.there.change("port_rcv_errors") == 2u);
    BOOST_TEST(pair.here.change("local_ack_timeout_err") == 2u);

    // The answer to a read arrives here.
    BOOST_TEST(pair.here.fault("bit-flip") == 1);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.here.change("port_rcv_errors") == 1u);

    // More of them than there are retries.
    BOOST_TEST(pair.there.fault("bit-flip for=10s") == 1);
    BOOST_TEST(pair.write() == IBV_WC_RETRY_EXC_ERR);
}

BOOST_AUTO_TEST_CASE(a_datagram_with_a_flipped_bit_is_lost)
{
    options wanted;
    wanted.type = IBV_QPT_UC;
    faulty pair(wanted);
    pair.self.word(0) = 5;
    pair.other.set_word(0, 1);
    BOOST_TEST(pair.there.fault("bit-flip") == 1);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS); // and nobody says so
    BOOST_TEST(pair.other.word(0) == 1u);
    BOOST_TEST(pair.write() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
