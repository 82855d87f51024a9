// SPDX-License-Identifier: BSD-3-Clause
//
// UD and UC.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "site.hpp"

#include <cerrno>
#include <cstring>

using namespace softtest;

namespace {

constexpr uint32_t grh = 40;

options datagram()
{
    options wanted;
    wanted.type = IBV_QPT_UD;
    return wanted;
}

struct datagrams : connected {
    datagrams() : connected(datagram())
    {
    }

    ~datagrams()
    {
        if (handle != nullptr) {
            verbs().destroy_ah(handle);
        }
    }

    int send(uint32_t length, uint32_t qkey = 0x1234)
    {
        if (handle == nullptr) {
            ibv_ah_attr attr = way_to(other.where());
            handle           = verbs().create_ah(self.pd, &attr);
            BOOST_REQUIRE(handle != nullptr);
        }
        ibv_send_wr wr{};
        wr.opcode            = IBV_WR_SEND;
        wr.send_flags        = IBV_SEND_SIGNALED;
        wr.wr.ud.ah          = handle;
        wr.wr.ud.remote_qpn  = other.where().number;
        wr.wr.ud.remote_qkey = qkey;
        return self.post(wr, length, 0);
    }

    ibv_ah *handle = nullptr;
};

} // namespace

BOOST_AUTO_TEST_SUITE(unreliable)

BOOST_AUTO_TEST_CASE(datagram_arrives_behind_its_header)
{
    datagrams pair;
    pair.self.word(0) = 123;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    ibv_wc wc = pair.other.wait();
    BOOST_TEST(wc.byte_len == 8 + grh);
    BOOST_TEST(wc.src_qp == pair.self.qp->qp_num);
    BOOST_TEST(wc.slid == pair.self.own_address().lid);
    BOOST_TEST(wc.wc_flags == (where_we_are().ethernet ? unsigned{IBV_WC_GRH} : 0u));
    BOOST_TEST(pair.other.word(grh) == 123u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_lost_without_a_word)
{
    datagrams pair;
    BOOST_REQUIRE_EQUAL(pair.send(8), 0); // no receive
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.send(8, 0x4321), 0); // another key
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.silent(10));
}

BOOST_AUTO_TEST_CASE(datagram_over_the_mtu_stops_the_send_queue_only)
{
    datagrams pair;
    BOOST_REQUIRE_EQUAL(pair.send(4097), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_LOC_LEN_ERR);
    BOOST_TEST(pair.self.state() == IBV_QPS_SQE);
    BOOST_REQUIRE_EQUAL(pair.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_WR_FLUSH_ERR);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    BOOST_TEST(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE) == 0);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(8192), 0);
    BOOST_REQUIRE_EQUAL(pair.send(4096), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.wait().byte_len == 4096 + grh);
}

BOOST_AUTO_TEST_CASE(unreliable_connection_writes_and_loses)
{
    options wanted;
    wanted.type = IBV_QPT_UC;
    connected pair(wanted);
    pair.self.word(0) = 5;
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 5u);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0); // no receive: lost
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == EINVAL);
    address wrong = pair.other.where();
    wrong.rkey ^= 1;
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, wrong, 8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.state() == int{IBV_QPS_RTS});
}

BOOST_AUTO_TEST_SUITE_END()
