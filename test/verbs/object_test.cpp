// SPDX-License-Identifier: BSD-3-Clause
//
// Objects by themselves: attributes, state changes, resizing, the extended interfaces.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <vector>

using namespace softtest;

BOOST_AUTO_TEST_SUITE(object)

BOOST_AUTO_TEST_CASE(device_is_listed_and_described)
{
    int count         = 0;
    ibv_device **list = verbs().get_device_list(&count);
    BOOST_REQUIRE(list != nullptr);
    BOOST_TEST(count >= 1);
    BOOST_TEST(list[count] == nullptr);

    endpoint self;
    ibv_device_attr attr;
    BOOST_TEST(verbs().query_device(self.context, &attr) == 0);
    BOOST_TEST(attr.node_guid == verbs().get_device_guid(self.context->device));
    BOOST_TEST(attr.max_srq > 0);
    BOOST_TEST(attr.vendor_id != 0u);
    verbs().free_device_list(list);

    __be16 pkey;
    BOOST_TEST(verbs().query_pkey(self.context, 1, 0, &pkey) == 0);
    BOOST_TEST(pkey == 0xffff);
    BOOST_TEST(strcmp(verbs().wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR),
                      "RNR retry counter exceeded") == 0);
    BOOST_TEST(verbs().rate_to_mbps(IBV_RATE_100_GBPS) == 103125);
}

BOOST_AUTO_TEST_CASE(state_changes_need_their_attributes)
{
    endpoint self;
    ibv_qp_attr attr{};
    auto modify = [&](ibv_qp_state to, int mask) {
        attr.qp_state = to;
        return verbs().modify_qp(self.qp, &attr, mask | IBV_QP_STATE);
    };
    constexpr int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    attr.port_num      = 1;
    BOOST_TEST(modify(IBV_QPS_RTR, init) == EINVAL); // skips INIT
    BOOST_TEST(modify(IBV_QPS_INIT, IBV_QP_PORT) == EINVAL); // lacks some
    BOOST_TEST(modify(IBV_QPS_INIT, init | IBV_QP_QKEY) == EINVAL);
    attr.port_num = 2;
    BOOST_TEST(modify(IBV_QPS_INIT, init) == EINVAL);
    attr.port_num = 1;
    BOOST_TEST(modify(IBV_QPS_INIT, init) == 0);
    BOOST_TEST(self.state() == IBV_QPS_INIT);
    BOOST_TEST(self.post_receive(64) == 0);
    BOOST_TEST(self.send(8) == EINVAL); // not before RTS
    BOOST_TEST(self.to_rts() == EINVAL);

    self.setup.min_rnr_timer = 32;
    BOOST_TEST(self.to_rtr(self.own_address()) == EINVAL);
    self.setup.min_rnr_timer = 12;
    BOOST_TEST(self.to_rtr(self.own_address()) == 0);
    BOOST_TEST(self.send(8) == EINVAL);
    self.setup.retry_cnt = 8;
    BOOST_TEST(self.to_rts() == EINVAL);
    self.setup.retry_cnt = 7;
    BOOST_TEST(self.to_rts() == 0);

    ibv_qp_attr found{};
    ibv_qp_init_attr created{};
    BOOST_TEST(verbs().query_qp(self.qp, &found, ~0, &created) == 0);
    BOOST_TEST(found.retry_cnt == 7);
    BOOST_TEST(found.dest_qp_num == self.qp->qp_num);
    BOOST_TEST(found.cap.max_send_wr >= 64u);
    BOOST_TEST(created.send_cq == self.cq);
}

BOOST_AUTO_TEST_CASE(each_service_has_its_own_attributes)
{
    constexpr int connected_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    constexpr int datagram_init  = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    constexpr int uc_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    constexpr int rc_rtr = uc_rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    constexpr int rc_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    struct service {
        ibv_qp_type type;
        int init, rtr, rts;
    };
    const service services[] = {{IBV_QPT_RC, connected_init, rc_rtr, rc_rts},
                                {IBV_QPT_UC, connected_init, uc_rtr, IBV_QP_SQ_PSN},
                                {IBV_QPT_UD, datagram_init, 0, IBV_QP_SQ_PSN}};
    for (const service &each : services) {
        options wanted;
        wanted.type = each.type;
        endpoint self(wanted);
        ibv_qp_attr attr{};
        attr.port_num = 1;
        attr.path_mtu = IBV_MTU_1024;
        attr.ah_attr  = way_to(self.own_address());
        auto modify   = [&](ibv_qp_state to, int mask) {
            attr.qp_state = to;
            return verbs().modify_qp(self.qp, &attr, mask | IBV_QP_STATE);
        };
        struct step {
            ibv_qp_state to;
            int mask;
        };
        for (const step &next :
             {step{IBV_QPS_INIT, each.init}, step{IBV_QPS_RTR, each.rtr},
              step{IBV_QPS_RTS, each.rts}}) {
            // Without any one of them, and with one of another service, it does not work.
            for (int bit = 1; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
                if ((next.mask & bit) != 0) {
                    BOOST_TEST(modify(next.to, next.mask & ~bit) == EINVAL);
                }
            }
            int foreign = (each.type == IBV_QPT_UD) ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY;
            BOOST_TEST(modify(next.to, next.mask | foreign) == EINVAL);
            BOOST_TEST(modify(next.to, next.mask) == 0);
            BOOST_TEST(self.state() == next.to);
        }
        // From anywhere to the error state, and from there to the start only.
        BOOST_TEST(modify(IBV_QPS_ERR, 0) == 0);
        BOOST_TEST(modify(IBV_QPS_RTS, each.rts) == EINVAL);
        BOOST_TEST(modify(IBV_QPS_RESET, 0) == 0);
        BOOST_TEST(self.state() == IBV_QPS_RESET);
    }
}

BOOST_AUTO_TEST_CASE(draining_queue_keeps_its_requests)
{
    connected pair;
    ibv_qp_attr attr{};
    attr.qp_state            = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr,
                                          IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
                        0);
    ibv_async_event event;
    BOOST_REQUIRE_EQUAL(verbs().get_async_event(pair.self.context, &event), 0);
    BOOST_TEST(event.event_type == IBV_EVENT_SQ_DRAINED);
    verbs().ack_async_event(&event);
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8), 0);
    BOOST_TEST(pair.self.silent(5));
    attr.qp_state = IBV_QPS_RTS;
    BOOST_REQUIRE_EQUAL(verbs().modify_qp(pair.self.qp, &attr, IBV_QP_STATE), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(registration_checks_rights_and_memory)
{
    endpoint self;
    const verbs_api &v = verbs();
    errno              = 0;
    BOOST_TEST(v.reg_mr(self.pd, self.buffer, 4096, IBV_ACCESS_REMOTE_WRITE) == nullptr);
    BOOST_TEST(errno == EINVAL);
    BOOST_TEST(v.reg_mr(self.pd, self.buffer, 4096, IBV_ACCESS_ON_DEMAND) == nullptr);
    BOOST_TEST(errno == EOPNOTSUPP);
    BOOST_TEST(v.reg_mr(self.pd, nullptr, 4096, IBV_ACCESS_LOCAL_WRITE) == nullptr);
    BOOST_TEST(errno == EFAULT);

    void *constant = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_TEST(v.reg_mr(self.pd, constant, 4096, IBV_ACCESS_LOCAL_WRITE) == nullptr);
    BOOST_TEST(errno == EFAULT);
    ibv_mr *readable = v.reg_mr(self.pd, constant, 4096, IBV_ACCESS_REMOTE_READ);
    BOOST_REQUIRE(readable != nullptr);
    BOOST_TEST(readable->lkey != self.mr->lkey);
    BOOST_TEST(v.dereg_mr(readable) == 0);
    munmap(constant, 4096);
}

BOOST_AUTO_TEST_CASE(region_with_its_own_addresses_and_a_changed_one)
{
    connected pair;
    constexpr uint64_t iova = 0x10000;
    ibv_mr *shifted = verbs().reg_mr_iova2(pair.self.pd, pair.self.buffer + 4096, 4096,
                                           iova, IBV_ACCESS_LOCAL_WRITE);
    BOOST_REQUIRE(shifted != nullptr);
    auto write_from = [&](uint64_t addr) {
        ibv_sge sge{addr, 8, shifted->lkey};
        ibv_send_wr wr{}, *bad;
        wr.opcode              = IBV_WR_RDMA_WRITE;
        wr.send_flags          = IBV_SEND_SIGNALED;
        wr.sg_list             = &sge;
        wr.num_sge             = 1;
        wr.wr.rdma.remote_addr = pair.other.where().memory;
        wr.wr.rdma.rkey        = pair.other.where().rkey;
        BOOST_REQUIRE_EQUAL(ibv_post_send(pair.self.qp, &wr, &bad), 0);
        return pair.self.wait_status();
    };
    pair.self.word(4096 + 16) = 1234;
    BOOST_TEST(write_from(iova + 16) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 1234u);

    pair.self.word(8192) = 4321;
    BOOST_TEST(verbs().rereg_mr(shifted, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                                pair.self.buffer + 8192, 4096, 0) == 0);
    BOOST_TEST(write_from(reinterpret_cast<uint64_t>(pair.self.buffer + 8192)) ==
               IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(0) == 4321u);
    BOOST_TEST(write_from(iova + 16) == IBV_WC_LOC_PROT_ERR);
    BOOST_TEST(verbs().dereg_mr(shifted) == 0);
}

BOOST_AUTO_TEST_CASE(changed_rights_leave_the_key_as_it_was)
{
    options wanted;
    wanted.memory_access = IBV_ACCESS_LOCAL_WRITE;
    endpoint self, other(wanted);
    BOOST_REQUIRE_EQUAL(self.connect(other.own_address()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    address known = other.own_address();
    BOOST_REQUIRE_EQUAL(verbs().rereg_mr(other.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr,
                                         nullptr, 0, all_access),
                        0);
    BOOST_TEST(other.mr->rkey == known.rkey);
    BOOST_REQUIRE_EQUAL(self.rdma(IBV_WR_RDMA_WRITE, known, 8), 0);
    BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
    BOOST_REQUIRE_EQUAL(verbs().rereg_mr(other.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr,
                                         nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
                        0);
    BOOST_REQUIRE_EQUAL(self.rdma(IBV_WR_RDMA_WRITE, known, 8), 0);
    BOOST_TEST(self.wait_status() == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(completion_queue_is_hardly_larger_than_asked_for)
{
    endpoint self;
    BOOST_TEST(self.cq->cqe == self.setup.cqe);
    BOOST_TEST(verbs().resize_cq(self.cq, 5) == 0);
    BOOST_TEST(self.cq->cqe == 8);
    BOOST_TEST(verbs().resize_cq(self.cq, 1) == 0);
    BOOST_TEST(self.cq->cqe == 1);
}

BOOST_AUTO_TEST_CASE(a_queue_can_be_resized_any_number_of_times)
{
    connected pair;
    for (unsigned round = 0; round < 1000; ++round) {
        BOOST_REQUIRE_EQUAL(verbs().resize_cq(pair.self.cq, 1 << (5 + round % 12)), 0);
        BOOST_REQUIRE_EQUAL(verbs().resize_cq(pair.self.cq, 32), 0);
        if (round % 100 == 0) {
            BOOST_REQUIRE_EQUAL(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8),
                                IBV_WC_SUCCESS);
        }
    }
}

BOOST_AUTO_TEST_CASE(resized_queue_keeps_its_completions,
                     *boost::unit_test::precondition(direct_access))
{
    options wanted;
    wanted.cqe = 16;
    connected pair(wanted);
    for (uint64_t i = 0; i < 10; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                           IBV_SEND_SIGNALED, i),
                            0);
    }
    BOOST_TEST(verbs().resize_cq(pair.self.cq, 64) == 0);
    BOOST_TEST(pair.self.cq->cqe >= 64);
    for (uint64_t i = 10; i < 40; ++i) {
        BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8, 0,
                                           IBV_SEND_SIGNALED, i),
                            0);
    }
    BOOST_TEST(verbs().resize_cq(pair.self.cq, 16) == EINVAL); // 40 do not fit
    for (uint64_t i = 0; i < 40; ++i) {
        std::optional<ibv_wc> wc = pair.self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->wr_id == i);
    }
    BOOST_TEST(verbs().resize_cq(pair.self.cq, 16) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_supported_says_so)
{
    endpoint self;
    ibv_xrcd_init_attr xrc{};
    errno = 0;
    BOOST_TEST(ibv_open_xrcd(self.context, &xrc) == nullptr);
    BOOST_TEST(errno == EOPNOTSUPP);
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = self.cq;
    attr.qp_type                = IBV_QPT_RAW_PACKET;
    BOOST_TEST(verbs().create_qp(self.pd, &attr) == nullptr);
    BOOST_TEST(errno == EOPNOTSUPP);
}

BOOST_AUTO_TEST_SUITE_END()
