// SPDX-License-Identifier: BSD-3-Clause
//
// A port's counters, as the program `softrdma` reads them.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "port_view.hpp"

using namespace softtest;

namespace {

struct counted : connected {
    using connected::connected;
    port_watch here{getpid()};
    port_watch there{other.pid()};
};

} // namespace

BOOST_AUTO_TEST_SUITE(counter, *boost::unit_test::precondition(on_software_device))

BOOST_AUTO_TEST_CASE(messages_count_at_both_ends)
{
    counted pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(4000), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(3000), 0); // the path's MTU is 1024
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.here.change("port_xmit_bytes") == 3000u);
    BOOST_TEST(pair.here.change("port_xmit_packets") == 3u);
    BOOST_TEST(pair.there.change("port_rcv_bytes") == 3000u);
    BOOST_TEST(pair.there.change("port_rcv_packets") == 3u);
    BOOST_TEST(pair.here.change("port_rcv_packets") == 0u);
    BOOST_TEST(pair.there.change("port_xmit_packets") == 0u);
}

BOOST_AUTO_TEST_CASE(a_message_of_nothing_is_a_packet)
{
    counted pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(0), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.here.change("port_xmit_packets") == 1u);
    BOOST_TEST(pair.here.change("port_xmit_bytes") == 0u);
}

BOOST_AUTO_TEST_CASE(a_read_counts_where_the_data_leave)
{
    counted pair;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 4096) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.here.change("port_xmit_packets") == 1u); // the request
    BOOST_TEST(pair.here.change("port_xmit_bytes") == 0u);
    BOOST_TEST(pair.there.change("port_xmit_bytes") == 4096u);
    BOOST_TEST(pair.there.change("port_xmit_packets") == 4u);
    BOOST_TEST(pair.here.change("port_rcv_bytes") == 4096u);
    BOOST_TEST(pair.here.change("port_rcv_packets") == 4u);
}

BOOST_AUTO_TEST_CASE(refusals_for_want_of_a_receive)
{
    options wanted;
    wanted.rnr_retry     = 2;
    wanted.min_rnr_timer = 1;
    counted pair(wanted);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RNR_RETRY_EXC_ERR);
    BOOST_TEST(pair.here.change("rnr_nak_retry_err") == 2u);
    BOOST_TEST(pair.here.change("req_rnr_retries_exceeded") == 1u);
    BOOST_TEST(pair.there.change("out_of_buffer") == 3u);
    BOOST_TEST(pair.here.change("port_xmit_bytes") == 0u);
}

BOOST_AUTO_TEST_CASE(silence_counts_each_retry)
{
    options wanted;
    wanted.timeout = 8; // 1 ms
    counted pair(wanted);
    pair.other.kill();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_RETRY_EXC_ERR);
    BOOST_TEST(pair.here.change("local_ack_timeout_err") == 2u); // retry_cnt
    BOOST_TEST(pair.here.change("req_transport_retries_exceeded") == 1u);
}

BOOST_AUTO_TEST_CASE(sums_of_a_device_outlive_its_processes)
{
    uint64_t before = device_total("port_rcv_bytes");
    {
        connected pair;
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 777) ==
                   IBV_WC_SUCCESS);
    }
    BOOST_TEST(device_total("port_rcv_bytes") == before + 777);
    servant next; // takes the slot, which starts from zero
    port_watch fresh(next.pid());
    BOOST_TEST(fresh.value("port_rcv_bytes") == 0u);
    BOOST_TEST(device_total("port_rcv_bytes") == before + 777);
}

BOOST_AUTO_TEST_SUITE_END()
