// SPDX-License-Identifier: BSD-3-Clause
//
// SEND and receive: data, sizes, immediate data, inline, shared receive queues, queue limits.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

using namespace softtest;

namespace {

uint64_t fill(endpoint &from, uint32_t length, unsigned seed)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < length; ++i) {
        from.buffer[i] = static_cast<char>(i * 31 + seed);
        sum += static_cast<unsigned char>(from.buffer[i]);
    }
    return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(message)

BOOST_AUTO_TEST_CASE(every_size_arrives_whole)
{
    connected pair;
    unsigned seed = 1;
    for (uint32_t length :
         {0u, 1u, 8u, 63u, 4096u, 8191u, 8192u, 8256u, 8320u, 8321u, 65536u, 1048576u}) {
        uint64_t sum = fill(pair.self, length, ++seed);
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(buffer_bytes, 0, seed), 0);
        BOOST_REQUIRE_EQUAL(pair.self.send(length), 0);
        BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
        ibv_wc wc = pair.other.wait();
        BOOST_TEST(wc.status == IBV_WC_SUCCESS);
        BOOST_TEST(wc.opcode == IBV_WC_RECV);
        BOOST_TEST(wc.byte_len == length);
        BOOST_TEST(wc.wr_id == seed);
        BOOST_TEST(wc.qp_num == pair.other.where().number);
        BOOST_TEST(wc.src_qp == pair.self.qp->qp_num);
        BOOST_TEST(pair.other.sum(0, length) == sum);
    }
}

BOOST_AUTO_TEST_CASE(messages_keep_their_order)
{
    connected pair;
    for (uint64_t i = 0; i < 40; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(16384, 32768 + i, i), 0);
    }
    for (uint64_t i = 0; i < 40; ++i) {
        // Small and large ones take different paths.
        BOOST_REQUIRE_EQUAL(pair.self.send((i % 2) ? 64 : 16000, IBV_SEND_SIGNALED, 0, i),
                            0);
    }
    for (uint64_t i = 0; i < 40; ++i) {
        BOOST_TEST(pair.self.wait()->wr_id == i);
        BOOST_TEST(pair.other.wait().wr_id == i);
    }
}

BOOST_AUTO_TEST_CASE(immediate_data_arrives)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    ibv_send_wr wr{};
    wr.opcode     = IBV_WR_SEND_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data   = 0xdeadbeef;
    BOOST_REQUIRE_EQUAL(pair.self.post(wr, 16, 0), 0);
    ibv_wc wc = pair.other.wait();
    BOOST_TEST(wc.wc_flags == unsigned{IBV_WC_WITH_IMM});
    BOOST_TEST(wc.imm_data == 0xdeadbeef);
}

BOOST_AUTO_TEST_CASE(inline_data_may_be_overwritten_after_posting)
{
    connected pair;
    // No receive yet: the request has to wait, with its data.
    pair.self.word(0) = 41;
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
    pair.self.word(0) = 42;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 41u);

    BOOST_TEST(pair.self.send(4096, IBV_SEND_SIGNALED | IBV_SEND_INLINE) == EINVAL);
}

BOOST_AUTO_TEST_CASE(shared_receive_queue_is_used_in_order)
{
    options wanted;
    wanted.shared_receives = true;
    connected pair(wanted);
    for (uint64_t i = 0; i < 64; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64, i * 64, i), 0);
    }
    BOOST_TEST(pair.other.post_receive(64) == ENOMEM);
    for (uint64_t i = 0; i < 8; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
        BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(pair.other.wait().wr_id == i);
    }
    for (uint64_t i = 0; i < 8; ++i) {
        BOOST_TEST(pair.other.post_receive(64) == 0);
    }
    BOOST_TEST(pair.other.post_receive(64) == ENOMEM);
}

BOOST_AUTO_TEST_CASE(only_signalled_requests_complete)
{
    connected pair;
    for (int i = 0; i < 3; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, 1), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8, 0, 0, 2), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED, 0, 3), 0);
    BOOST_TEST(pair.self.wait()->wr_id == 3u);
    BOOST_TEST(pair.self.silent(5));

    options all;
    all.signal_all = true;
    connected second(all);
    BOOST_REQUIRE_EQUAL(second.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(second.self.send(8, 0, 0, 4), 0);
    BOOST_TEST(second.self.wait()->wr_id == 4u);
}

BOOST_AUTO_TEST_CASE(send_queue_is_full_until_a_completion_is_polled)
{
    options wanted;
    wanted.send_depth = 8;
    connected pair(wanted);
    for (int i = 0; i < 20; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    for (int i = 0; i < 7; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.send(8, 0), 0);
    }
    BOOST_REQUIRE_EQUAL(pair.self.send(8, IBV_SEND_SIGNALED), 0);
    // All have arrived, but nothing was polled.
    for (int i = 0; i < 8; ++i) {
        BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    }
    BOOST_TEST(pair.self.send(8) == ENOMEM);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    for (int i = 0; i < 8; ++i) {
        BOOST_TEST(pair.self.send(8, IBV_SEND_SIGNALED) == 0);
    }
    BOOST_TEST(pair.self.send(8) == ENOMEM);
}

BOOST_AUTO_TEST_CASE(receive_queue_is_full_until_a_completion_is_polled)
{
    options wanted;
    wanted.recv_depth = 4;
    connected pair(wanted);
    for (int i = 0; i < 4; ++i) {
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    }
    BOOST_TEST(pair.other.post_receive(64) == ENOMEM);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.post_receive(64) == ENOMEM);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.post_receive(64) == 0);
}

BOOST_AUTO_TEST_CASE(message_longer_than_its_receive_is_an_error_on_both_sides)
{
    for (uint32_t length : {100u, 100000u}) {
        connected pair;
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(length - 1), 0);
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(length), 0);
        BOOST_REQUIRE_EQUAL(pair.self.send(length), 0);
        BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_INV_REQ_ERR);
        BOOST_TEST(pair.self.state() == IBV_QPS_ERR);
        BOOST_TEST(pair.other.wait().status == IBV_WC_LOC_LEN_ERR);
        BOOST_TEST(pair.other.wait().status == IBV_WC_WR_FLUSH_ERR);
        BOOST_TEST(pair.other.state() == int{IBV_QPS_ERR});
    }
}

BOOST_AUTO_TEST_CASE(receive_in_memory_that_is_gone_is_an_error_on_both_sides)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    pair.other.deregister();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_OP_ERR);
    BOOST_TEST(pair.other.wait().status == IBV_WC_LOC_PROT_ERR);
}

BOOST_AUTO_TEST_CASE(both_sides_may_be_one_process)
{
    endpoint a, b;
    BOOST_REQUIRE_EQUAL(a.connect(b.own_address()), 0);
    BOOST_REQUIRE_EQUAL(b.connect(a.own_address()), 0);
    for (uint32_t length : {8u, 8192u, 500000u}) {
        uint64_t sum = fill(a, length, length);
        BOOST_REQUIRE_EQUAL(b.post_receive(buffer_bytes), 0);
        BOOST_REQUIRE_EQUAL(a.send(length), 0);
        BOOST_TEST(a.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(b.wait()->byte_len == length);
        BOOST_TEST(memcmp(a.buffer, b.buffer, length) == 0);
        BOOST_TEST(sum != 0u);
    }
    BOOST_REQUIRE_EQUAL(a.send(8),
                        0); // no receive: retried by polling or the service thread
    BOOST_REQUIRE_EQUAL(b.post_receive(64), 0);
    BOOST_TEST(a.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(b.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_SUITE_END()
