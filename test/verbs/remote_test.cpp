// SPDX-License-Identifier: BSD-3-Clause
//
// RDMA READ, WRITE, WRITE with immediate data, atomics: data, rights, ranges, one-sidedness.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <csignal>

using namespace softtest;

BOOST_AUTO_TEST_SUITE(remote)

BOOST_AUTO_TEST_CASE(write_then_read_every_size)
{
    connected pair;
    for (uint32_t length : {0u, 1u, 7u, 8u, 9u, 4095u, 65536u, 1048576u}) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < length; ++i) {
            pair.self.buffer[i] = static_cast<char>(i * 7 + length);
            sum += static_cast<unsigned char>(pair.self.buffer[i]);
        }
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), length) ==
                   IBV_WC_SUCCESS);
        BOOST_TEST(pair.other.sum(0, length) == sum);
        std::fill(pair.self.buffer, pair.self.buffer + length, 0);
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), length) ==
                   IBV_WC_SUCCESS);
        uint64_t read = 0;
        for (uint32_t i = 0; i < length; ++i) {
            read += static_cast<unsigned char>(pair.self.buffer[i]);
        }
        BOOST_TEST(read == sum);
    }
}

BOOST_AUTO_TEST_CASE(write_with_immediate_consumes_a_receive)
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(0, 0, 99), 0);
    pair.self.word(512) = 77;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, pair.other.where(), 8, 512) ==
               IBV_WC_SUCCESS);
    ibv_wc wc = pair.other.wait();
    BOOST_TEST(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    BOOST_TEST(wc.wr_id == 99u);
    BOOST_TEST(wc.byte_len == 8u);
    BOOST_TEST(wc.imm_data == 0x01020304u);
    BOOST_TEST(pair.other.word(512) == 77u);
}

BOOST_AUTO_TEST_CASE(write_with_immediate_changes_nothing_without_a_receive)
{
    options wanted;
    wanted.rnr_retry = 0;
    connected pair(wanted);
    pair.other.set_word(0, 5);
    pair.self.word(0) = 6;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, pair.other.where(), 8) ==
               IBV_WC_RNR_RETRY_EXC_ERR);
    BOOST_TEST(pair.other.word(0) == 5u);
}

BOOST_AUTO_TEST_CASE(atomics)
{
    connected pair;
    pair.other.set_word(64, 10);
    BOOST_REQUIRE_EQUAL(pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(),
                                         64, 5, 0),
                        0);
    std::optional<ibv_wc> wc = pair.self.wait();
    BOOST_TEST(wc->status == IBV_WC_SUCCESS);
    BOOST_TEST(wc->opcode == IBV_WC_FETCH_ADD);
    BOOST_TEST(pair.self.word(0) == 10u);
    BOOST_TEST(pair.other.word(64) == 15u);

    pair.self.atomic(IBV_WR_ATOMIC_CMP_AND_SWP, pair.other.where(), 64, 14, 1);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.word(0) == 15u);
    BOOST_TEST(pair.other.word(64) == 15u);
    pair.self.atomic(IBV_WR_ATOMIC_CMP_AND_SWP, pair.other.where(), 64, 15, 1);
    BOOST_TEST(pair.self.wait()->opcode == IBV_WC_COMP_SWAP);
    BOOST_TEST(pair.other.word(64) == 1u);

    pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(), 65, 1, 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_INV_REQ_ERR);
}

BOOST_AUTO_TEST_CASE(atomics_of_two_initiators_lose_nothing)
{
    // Two processes and this one add to the same word of this process.
    endpoint first, second;
    servant one, two;
    BOOST_REQUIRE_EQUAL(first.connect(one.where()), 0);
    BOOST_REQUIRE_EQUAL(one.connect(first.own_address()), 0);
    BOOST_REQUIRE_EQUAL(second.connect(two.where()), 0);
    BOOST_REQUIRE_EQUAL(two.connect(second.own_address()), 0);
    ibv_mr *again = verbs().reg_mr(second.pd, first.buffer, 4096, all_access);
    BOOST_REQUIRE(again != nullptr);
    address target = first.own_address();
    one.start_adding(target, 5000);
    target.rkey = again->rkey;
    two.start_adding(target, 5000);
    BOOST_TEST(one.adding_result() == 5000u);
    BOOST_TEST(two.adding_result() == 5000u);
    BOOST_TEST(first.word(0) == 10000u);
    BOOST_TEST(verbs().dereg_mr(again) == 0);
}

BOOST_AUTO_TEST_CASE(wrong_key_or_range_is_a_remote_access_error)
{
    for (int fault = 0; fault < 4; ++fault) {
        connected pair;
        address where   = pair.other.where();
        uint32_t length = 64;
        switch (fault) {
        case 0:
            where.rkey ^= 1;
            break;
        case 1:
            where.rkey += 256; // of no region
            break;
        case 2:
            where.memory += buffer_bytes - 32; // beyond the end
            break;
        default:
            where.memory -= 1; // before the start
            break;
        }
        BOOST_TEST(pair.rdma((fault % 2) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, where,
                             length) == IBV_WC_REM_ACCESS_ERR);
        BOOST_TEST(pair.self.state() == IBV_QPS_ERR);
        BOOST_TEST(pair.other.wait_async() == IBV_EVENT_QP_ACCESS_ERR);
        BOOST_TEST(pair.other.state() == int{IBV_QPS_ERR});
    }
}

BOOST_AUTO_TEST_CASE(region_without_the_right_is_a_remote_access_error)
{
    options wanted;
    wanted.memory_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    {
        connected pair(wanted);
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
        BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) ==
                   IBV_WC_REM_ACCESS_ERR);
    }
    connected pair(wanted);
    pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(), 0, 1, 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(queue_pair_without_the_right_is_an_invalid_request)
{
    options wanted;
    wanted.qp_access = IBV_ACCESS_REMOTE_READ;
    connected pair(wanted);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) ==
               IBV_WC_REM_INV_REQ_ERR);
    BOOST_TEST(pair.other.wait_async() == IBV_EVENT_QP_REQ_ERR);
}

BOOST_AUTO_TEST_CASE(deregistered_memory_is_out_of_reach)
{
    connected pair;
    pair.other.deregister();
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) ==
               IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(wrong_local_key_is_a_local_protection_error)
{
    connected pair;
    ibv_sge sge{reinterpret_cast<uint64_t>(pair.self.buffer), 8, pair.self.mr->lkey ^ 1};
    ibv_send_wr wr{}, *bad;
    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.send_flags          = IBV_SEND_SIGNALED;
    wr.sg_list             = &sge;
    wr.num_sge             = 1;
    wr.wr.rdma.remote_addr = pair.other.where().memory;
    wr.wr.rdma.rkey        = pair.other.where().rkey;
    BOOST_REQUIRE_EQUAL(ibv_post_send(pair.self.qp, &wr, &bad), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_LOC_PROT_ERR);
    // The error is the requester's alone.
    BOOST_TEST(pair.other.state() == int{IBV_QPS_RTS});
}

BOOST_AUTO_TEST_CASE(read_into_a_read_only_region_is_a_local_protection_error)
{
    options wanted;
    wanted.memory_access = IBV_ACCESS_REMOTE_READ;
    connected pair(wanted);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_LOC_PROT_ERR);
}

BOOST_AUTO_TEST_CASE(aligned_word_is_written_in_one_piece)
{
    connected pair;
    constexpr uint32_t changes = 20000;
    pair.other.set_word(128, 0);
    pair.other.watch_word(128, changes / 2);
    // Where each write is relayed and processors are busy, 200000 would take many minutes.
    for (uint32_t i = 0; (i < changes * 10) && ((i % 100) || pair.other.watches()); ++i) {
        pair.self.word(128) = (i % 2) ? 0 : UINT64_MAX;
        // Small writes may also be inline, as credit updates are.
        unsigned flags = IBV_SEND_SIGNALED | ((i % 3) ? IBV_SEND_INLINE : 0);
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 128,
                                           flags),
                            0);
        BOOST_REQUIRE_EQUAL(pair.self.wait_status(), int{IBV_WC_SUCCESS});
    }
    BOOST_TEST(pair.other.watch_result() == 0u);
}

BOOST_AUTO_TEST_CASE(one_sided_operations_reach_a_stopped_process,
                     *boost::unit_test::precondition(direct_access))
{
    connected pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(0), 0);
    pair.other.signal(SIGSTOP);
    pair.self.word(0) = 0x1122334455667788;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
    pair.self.atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, pair.other.where(), 0, 1, 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_READ, pair.other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.self.word(0) == 0x1122334455667789u);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE_WITH_IMM, pair.other.where(), 65536, 4096) ==
               IBV_WC_SUCCESS);
    pair.other.signal(SIGCONT);
    BOOST_TEST(pair.other.wait().opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    BOOST_TEST(pair.other.word(0) == 0x1122334455667789u);
}

BOOST_AUTO_TEST_SUITE_END()
