// SPDX-License-Identifier: BSD-3-Clause
//
// The extended interfaces: ibv_cq_ex and ibv_qp_ex.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace softtest;

namespace {

// A connected endpoint with an extended queue pair that completes in an extended queue.
struct extended {
    explicit extended(uint64_t fields = IBV_WC_STANDARD_FLAGS, uint32_t depth = 16)
    {
        verbs_context *context = verbs_get_ctx(self.context);
        ibv_cq_init_attr_ex cq_attr{};
        cq_attr.cqe      = 256;
        cq_attr.wc_flags = fields;
        cq               = context->create_cq_ex(self.context, &cq_attr);
        BOOST_REQUIRE(cq != nullptr);

        ibv_qp_init_attr_ex attr{};
        attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);
        attr.cap                    = {depth, depth, 2, 2, 64};
        attr.qp_type                = IBV_QPT_RC;
        attr.comp_mask      = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.pd             = self.pd;
        attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |
                              IBV_QP_EX_WITH_SEND_WITH_INV |
                              IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                              IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                              IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
        plain   = self.qp;
        self.qp = context->create_qp_ex(self.context, &attr);
        BOOST_REQUIRE(self.qp != nullptr);
        BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
        BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
        qp = verbs().qp_to_qp_ex(self.qp);
        BOOST_REQUIRE(qp != nullptr);
    }

    ~extended()
    {
        BOOST_CHECK_EQUAL(verbs().destroy_qp(self.qp), 0);
        BOOST_CHECK_EQUAL(verbs().destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
        self.qp = plain;
    }

    // One word is written.
    void add_write(uint64_t id, uint32_t bytes = 8)
    {
        qp->wr_id    = id;
        qp->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_rdma_write(qp, other.where().rkey, other.where().memory);
        ibv_wr_set_sge(qp, self.mr->lkey, reinterpret_cast<uint64_t>(self.buffer), bytes);
    }

    endpoint self;
    servant other;
    ibv_qp *plain = nullptr;
    ibv_cq_ex *cq = nullptr;
    ibv_qp_ex *qp = nullptr;
};

} // namespace

BOOST_AUTO_TEST_SUITE(extended_interfaces)

BOOST_AUTO_TEST_CASE(requests_are_built_and_their_completions_read)
{
    extended pair;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64, 64), 0);
    uint64_t inlined  = 7;
    pair.self.word(0) = 35;
    ibv_wr_start(pair.qp);
    pair.add_write(1);
    pair.qp->wr_id = 2;
    ibv_wr_send(pair.qp);
    ibv_wr_set_inline_data(pair.qp, &inlined, sizeof(inlined));
    pair.qp->wr_id = 3;
    ibv_wr_atomic_fetch_add(pair.qp, pair.other.where().rkey, pair.other.where().memory,
                            7);
    ibv_wr_set_sge(pair.qp, pair.self.mr->lkey,
                   reinterpret_cast<uint64_t>(pair.self.buffer + 8), 8);
    BOOST_REQUIRE_EQUAL(ibv_wr_complete(pair.qp), 0);
    ibv_wr_start(pair.qp);
    ibv_wr_send(pair.qp);
    ibv_wr_abort(pair.qp);

    BOOST_TEST(pair.other.wait().byte_len == 8u);
    BOOST_TEST(pair.other.word(64) == 7u);

    ibv_poll_cq_attr poll{};
    double give_up = now_ms() + patience_ms;
    int found;
    while (((found = ibv_start_poll(pair.cq, &poll)) == ENOENT) && (now_ms() < give_up)) {
    }
    BOOST_REQUIRE_EQUAL(found, 0);
    auto following = [&] {
        int result;
        while (((result = ibv_next_poll(pair.cq)) == ENOENT) && (now_ms() < give_up)) {
        }
        return result;
    };
    BOOST_TEST(pair.cq->wr_id == 1u);
    BOOST_TEST(ibv_wc_read_opcode(pair.cq) == IBV_WC_RDMA_WRITE);
    BOOST_TEST(following() == 0);
    BOOST_TEST(pair.cq->wr_id == 2u);
    BOOST_TEST(following() == 0);
    BOOST_TEST(ibv_wc_read_opcode(pair.cq) == IBV_WC_FETCH_ADD);
    BOOST_TEST(ibv_next_poll(pair.cq) == ENOENT);
    ibv_end_poll(pair.cq);
    BOOST_TEST(pair.self.word(8) == 35u);
    BOOST_TEST(pair.other.word(0) == 42u);
}

BOOST_AUTO_TEST_CASE(requests_are_posted_together_or_not_at_all)
{
    extended pair;
    pair.other.set_word(0, 0);
    pair.self.word(0) = 35;
    ibv_wr_start(pair.qp);
    pair.add_write(1);
    std::vector<ibv_sge> many(3, ibv_sge{0, 0, 0}); // the queue pair takes two
    ibv_wr_send(pair.qp);
    ibv_wr_set_sge_list(pair.qp, many.size(), many.data());
    BOOST_TEST(ibv_wr_complete(pair.qp) == EINVAL);
    ibv_wr_start(pair.qp);
    for (uint64_t i = 0; i < 17; ++i) {
        pair.add_write(i); // one more than there is room for
    }
    BOOST_TEST(ibv_wr_complete(pair.qp) == ENOMEM);
    BOOST_TEST(pair.other.word(0) == 0u);
    ibv_poll_cq_attr poll{};
    BOOST_TEST(ibv_start_poll(pair.cq, &poll) == ENOENT);
    ibv_wr_start(pair.qp);
    for (uint64_t i = 0; i < 16; ++i) {
        pair.add_write(i);
    }
    BOOST_TEST(ibv_wr_complete(pair.qp) == 0);
}

BOOST_AUTO_TEST_CASE(data_without_a_request_is_refused)
{
    extended pair;
    ibv_wr_start(pair.qp);
    ibv_wr_set_sge(pair.qp, pair.self.mr->lkey, 0, 0);
    BOOST_TEST(ibv_wr_complete(pair.qp) == EINVAL);
    ibv_wr_start(pair.qp);
    char byte = 0;
    ibv_wr_set_inline_data(pair.qp, &byte, 1);
    BOOST_TEST(ibv_wr_complete(pair.qp) == EINVAL);
}

BOOST_AUTO_TEST_CASE(windows_are_bound_and_invalidated)
{
    extended pair;
    ibv_mr *mr     = verbs().reg_mr(pair.self.pd, pair.self.buffer, 4096,
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    ibv_mw *window = ibv_alloc_mw(pair.self.pd, IBV_MW_TYPE_2);
    BOOST_REQUIRE((mr != nullptr) && (window != nullptr));
    uint32_t rkey = ibv_inc_rkey(window->rkey);
    ibv_mw_bind_info info{mr, reinterpret_cast<uint64_t>(pair.self.buffer), 64,
                          IBV_ACCESS_REMOTE_ATOMIC};
    auto post = [&](auto request) {
        ibv_wr_start(pair.qp);
        pair.qp->wr_flags = IBV_SEND_SIGNALED;
        request();
        BOOST_REQUIRE_EQUAL(ibv_wr_complete(pair.qp), 0);
        ibv_wc wc{};
        double give_up = now_ms() + patience_ms;
        while ((ibv_poll_cq(ibv_cq_ex_to_cq(pair.cq), 1, &wc) == 0) &&
               (now_ms() < give_up)) {
        }
        return wc;
    };
    ibv_wc wc = post([&] { ibv_wr_bind_mw(pair.qp, window, rkey, &info); });
    BOOST_TEST(wc.status == IBV_WC_SUCCESS);
    BOOST_TEST(wc.opcode == IBV_WC_BIND_MW);
    address target = pair.self.own_address();
    target.rkey    = rkey;
    pair.other.start_adding(target, 3);
    BOOST_TEST(pair.other.adding_result() == 3u);
    wc = post([&] { ibv_wr_local_inv(pair.qp, rkey); });
    BOOST_TEST(wc.status == IBV_WC_SUCCESS);
    BOOST_TEST(wc.opcode == IBV_WC_LOCAL_INV);
    // Of no window any more: the peer does not take the message.
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    wc = post([&] { ibv_wr_send_inv(pair.qp, pair.other.where().rkey); });
    BOOST_TEST(wc.status != IBV_WC_SUCCESS);
    BOOST_TEST(ibv_dealloc_mw(window) == 0);
    BOOST_TEST(verbs().dereg_mr(mr) == 0);
}

BOOST_AUTO_TEST_CASE(a_stamp_does_not_disturb_a_small_message,
                     *boost::unit_test::precondition(direct_access))
{
    extended pair(uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
    std::vector<uint64_t> sent(16);
    for (uint64_t i = 0; i < sent.size(); ++i) {
        sent[i] = 0x0123456789abcdef * (i + 1);
        pair.other.set_word(i * sizeof(uint64_t), sent[i]);
    }
    for (uint32_t bytes = 1; bytes <= 128; ++bytes) {
        memset(pair.self.buffer, 0, 128);
        BOOST_REQUIRE_EQUAL(pair.self.post_receive(128, 0, bytes), 0);
        BOOST_REQUIRE_EQUAL(pair.other.send(bytes), 0);
        BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
        ibv_poll_cq_attr poll{};
        BOOST_REQUIRE_EQUAL(ibv_start_poll(pair.cq, &poll), 0);
        BOOST_TEST(pair.cq->wr_id == bytes);
        BOOST_TEST(ibv_wc_read_byte_len(pair.cq) == bytes);
        BOOST_TEST(ibv_wc_read_completion_ts(pair.cq) != 0u);
        ibv_end_poll(pair.cq);
        BOOST_TEST(memcmp(pair.self.buffer, sent.data(), bytes) == 0);
    }
}

BOOST_AUTO_TEST_CASE(completions_are_stamped_when_they_arrive,
                     *boost::unit_test::precondition(direct_access))
{
    extended pair(uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
    ibv_values_ex clock{};
    auto ticks = [&] {
        clock.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
        BOOST_REQUIRE_EQUAL(ibv_query_rt_values_ex(pair.self.context, &clock), 0);
        return static_cast<uint64_t>(clock.raw_clock.tv_nsec);
    };
    uint64_t before = ticks();
    ibv_wr_start(pair.qp);
    pair.add_write(1);
    pair.add_write(2);
    BOOST_REQUIRE_EQUAL(ibv_wr_complete(pair.qp), 0);
    uint64_t after = ticks();
    timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);

    ibv_poll_cq_attr poll{};
    BOOST_REQUIRE_EQUAL(ibv_start_poll(pair.cq, &poll), 0);
    uint64_t first = ibv_wc_read_completion_ts(pair.cq);
    BOOST_TEST(first == ibv_wc_read_completion_ts(pair.cq));
    BOOST_TEST(first >= before);
    uint64_t first_wall = ibv_wc_read_completion_wallclock_ns(pair.cq);
    BOOST_TEST(first_wall <=
               uint64_t(wall.tv_sec) * 1'000'000'000 + uint64_t(wall.tv_nsec) + 1000000);
    BOOST_REQUIRE_EQUAL(ibv_next_poll(pair.cq), 0);
    uint64_t second = ibv_wc_read_completion_ts(pair.cq);
    BOOST_TEST(second >= first);
    BOOST_TEST(second <= after);
    ibv_end_poll(pair.cq);
}

BOOST_AUTO_TEST_CASE(threads_share_an_extended_queue)
{
    constexpr uint64_t total = 1000;
    extended pair(IBV_WC_STANDARD_FLAGS, 128);
    std::atomic<uint64_t> sum{0}, count{0};
    std::vector<std::thread> pollers;
    double give_up = now_ms() + 3 * patience_ms;
    for (int t = 0; t < 3; ++t) {
        pollers.emplace_back([&] {
            ibv_poll_cq_attr poll{};
            while ((count.load() < total) && (now_ms() < give_up)) {
                if (ibv_start_poll(pair.cq, &poll) != 0) {
                    continue;
                }
                do {
                    // Read twice: the readers are this thread's until the end. On a busy machine the others
                    // take a time slice each, so not in between all of them.
                    uint64_t id = pair.cq->wr_id;
                    if (id % 16 == 0) {
                        std::this_thread::yield();
                    }
                    sum += (id == pair.cq->wr_id) ? id : 0;
                    ++count;
                } while (ibv_next_poll(pair.cq) == 0);
                ibv_end_poll(pair.cq);
            }
        });
    }
    for (uint64_t i = 1; i <= total;) {
        ibv_wr_start(pair.qp);
        pair.add_write(i);
        i += ibv_wr_complete(pair.qp) == 0;
        if (now_ms() > give_up) {
            break;
        }
    }
    for (std::thread &poller : pollers) {
        poller.join();
    }
    BOOST_TEST(count.load() == total);
    BOOST_TEST(sum.load() == total * (total + 1) / 2);
}

BOOST_AUTO_TEST_SUITE_END()
