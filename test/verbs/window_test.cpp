// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows: rkeys that come and go by work requests.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cerrno>

using namespace softtest;

namespace {

constexpr uint64_t part       = 4096; // where the window begins
constexpr uint64_t part_bytes = 8192;

options bindable()
{
    options wanted;
    wanted.memory_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
    return wanted;
}

// Two endpoints of this process, the second one with a window on its memory.
struct windowed {
    explicit windowed(ibv_mw_type type, const options &theirs = bindable()) :
        other(theirs)
    {
        BOOST_REQUIRE_EQUAL(self.connect(other.own_address()), 0);
        BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
        window = ibv_alloc_mw(other.pd, type);
        BOOST_REQUIRE(window != nullptr);
    }

    ~windowed()
    {
        if (window != nullptr) {
            BOOST_CHECK_EQUAL(ibv_dealloc_mw(window), 0);
        }
    }

    ibv_mw_bind_info info(uint64_t length, unsigned access)
    {
        return {other.mr, reinterpret_cast<uint64_t>(other.buffer + part), length,
                access};
    }

    // The status of a binding of type 1.
    int bind(uint64_t length, unsigned access)
    {
        ibv_mw_bind request{};
        request.send_flags = IBV_SEND_SIGNALED;
        request.bind_info  = info(length, access);
        BOOST_REQUIRE_EQUAL(ibv_bind_mw(other.qp, window, &request), 0);
        return other.wait_status();
    }

    // The status of a binding of type 2 under that key.
    int bind_as(uint32_t rkey, uint64_t length, unsigned access)
    {
        ibv_send_wr wr{}, *bad;
        wr.opcode            = IBV_WR_BIND_MW;
        wr.send_flags        = IBV_SEND_SIGNALED;
        wr.bind_mw.mw        = window;
        wr.bind_mw.rkey      = rkey;
        wr.bind_mw.bind_info = info(length, access);
        BOOST_REQUIRE_EQUAL(ibv_post_send(other.qp, &wr, &bad), 0);
        return other.wait_status();
    }

    // The status of a write of one word through the window.
    int write(uint32_t rkey, uint64_t offset = part)
    {
        address target = other.own_address();
        target.rkey    = rkey;
        BOOST_REQUIRE_EQUAL(self.rdma(IBV_WR_RDMA_WRITE, target, 8, offset), 0);
        return self.wait_status();
    }

    // Posts a request that names a key to be made invalid.
    static void invalidate(endpoint &from, ibv_wr_opcode opcode, uint32_t rkey)
    {
        ibv_send_wr wr{}, *bad;
        wr.opcode          = opcode;
        wr.send_flags      = IBV_SEND_SIGNALED;
        wr.invalidate_rkey = rkey;
        BOOST_REQUIRE_EQUAL(ibv_post_send(from.qp, &wr, &bad), 0);
    }

    endpoint self;
    endpoint other;
    ibv_mw *window = nullptr;
};

} // namespace

BOOST_AUTO_TEST_SUITE(window)

BOOST_AUTO_TEST_CASE(window_opens_its_part_of_the_region_and_no_more)
{
    windowed pair(IBV_MW_TYPE_1);
    uint32_t before = pair.window->rkey;
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.window->rkey != before);
    pair.self.word(part) = 77;
    BOOST_TEST(pair.write(pair.window->rkey) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.word(part) == 77u);
    BOOST_TEST(pair.write(pair.window->rkey, part + part_bytes - 8) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(pair.window->rkey, part + part_bytes - 4) ==
               IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(window_has_the_rights_it_was_bound_with)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
    address target = pair.other.own_address();
    target.rkey    = pair.window->rkey;
    BOOST_REQUIRE_EQUAL(pair.self.rdma(IBV_WR_RDMA_READ, target, 8, part), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(pair.window->rkey) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(new_binding_ends_the_old_key)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    uint32_t old = pair.window->rkey;
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(pair.window->rkey) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(old) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(empty_binding_closes_a_window_of_type_1)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.bind(0, 0) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(pair.window->rkey) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(region_stays_while_a_window_is_bound)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(verbs().dereg_mr(pair.other.mr) == EBUSY);
    BOOST_TEST(verbs().dealloc_pd(pair.other.pd) == EBUSY);
    pair.self.word(part) = 1;
    BOOST_TEST(pair.write(pair.window->rkey) == IBV_WC_SUCCESS);
    uint32_t old = pair.window->rkey;
    BOOST_CHECK_EQUAL(ibv_dealloc_mw(pair.window), 0);
    pair.window = nullptr;
    BOOST_TEST(verbs().dereg_mr(pair.other.mr) == 0);
    pair.other.mr = nullptr;
    BOOST_TEST(pair.write(old) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(region_must_allow_the_binding)
{
    windowed pair(IBV_MW_TYPE_1, options{});
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_MW_BIND_ERR);
    BOOST_TEST(pair.other.state() == IBV_QPS_ERR);
}

BOOST_AUTO_TEST_CASE(writable_window_needs_a_writable_region)
{
    options wanted;
    wanted.memory_access = IBV_ACCESS_MW_BIND;
    {
        windowed pair(IBV_MW_TYPE_1, wanted);
        BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
    }
    windowed pair(IBV_MW_TYPE_1, wanted);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_MW_BIND_ERR);
}

BOOST_AUTO_TEST_CASE(window_outside_of_the_region_is_not_bound)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(buffer_bytes, IBV_ACCESS_REMOTE_READ) == IBV_WC_MW_BIND_ERR);
}

BOOST_AUTO_TEST_CASE(window_of_type_2_has_the_key_it_was_given)
{
    windowed pair(IBV_MW_TYPE_2);
    uint32_t rkey = ibv_inc_rkey(pair.window->rkey);
    BOOST_TEST(pair.bind_as(rkey, part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(rkey) == IBV_WC_SUCCESS);
    // It is not bound again before it was invalidated.
    BOOST_TEST(pair.bind_as(ibv_inc_rkey(rkey), part_bytes, IBV_ACCESS_REMOTE_WRITE) ==
               IBV_WC_MW_BIND_ERR);
}

BOOST_AUTO_TEST_CASE(window_of_type_2_is_for_its_queue_pair_only)
{
    windowed pair(IBV_MW_TYPE_2);
    uint32_t rkey = ibv_inc_rkey(pair.window->rkey);
    BOOST_TEST(pair.bind_as(rkey, part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);

    // Another queue pair of the same domain.
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = pair.other.cq;
    attr.cap                    = {4, 4, 1, 1, 0};
    attr.qp_type                = IBV_QPT_RC;
    ibv_qp *first               = pair.other.qp;
    pair.other.qp               = verbs().create_qp(pair.other.pd, &attr);
    BOOST_REQUIRE(pair.other.qp != nullptr);
    endpoint stranger;
    BOOST_REQUIRE_EQUAL(stranger.connect(pair.other.own_address()), 0);
    BOOST_REQUIRE_EQUAL(pair.other.connect(stranger.own_address()), 0);
    address target = pair.other.own_address();
    target.rkey    = rkey;
    BOOST_REQUIRE_EQUAL(stranger.rdma(IBV_WR_RDMA_WRITE, target, 8, part), 0);
    BOOST_TEST(stranger.wait_status() == IBV_WC_REM_ACCESS_ERR);
    BOOST_CHECK_EQUAL(verbs().destroy_qp(pair.other.qp), 0);
    pair.other.qp = first;
    BOOST_TEST(pair.write(rkey) == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(owner_invalidates_a_window)
{
    windowed pair(IBV_MW_TYPE_2);
    uint32_t rkey = ibv_inc_rkey(pair.window->rkey);
    BOOST_TEST(pair.bind_as(rkey, part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    windowed::invalidate(pair.other, IBV_WR_LOCAL_INV, rkey);
    std::optional<ibv_wc> wc = pair.other.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->status == IBV_WC_SUCCESS);
    BOOST_TEST(wc->opcode == IBV_WC_LOCAL_INV);
    rkey = ibv_inc_rkey(rkey);
    BOOST_TEST(pair.bind_as(rkey, part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(rkey) == IBV_WC_SUCCESS);
    windowed::invalidate(pair.other, IBV_WR_LOCAL_INV, rkey);
    BOOST_TEST(pair.other.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(rkey) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(key_of_no_window_is_not_invalidated)
{
    windowed pair(IBV_MW_TYPE_2);
    windowed::invalidate(pair.other, IBV_WR_LOCAL_INV, pair.other.mr->rkey);
    BOOST_TEST(pair.other.wait_status() == IBV_WC_MW_BIND_ERR);
    BOOST_TEST(pair.other.state() == IBV_QPS_ERR);
}

BOOST_AUTO_TEST_CASE(peer_invalidates_a_window_with_its_message)
{
    windowed pair(IBV_MW_TYPE_2);
    uint32_t rkey = ibv_inc_rkey(pair.window->rkey);
    BOOST_TEST(pair.bind_as(rkey, part_bytes, IBV_ACCESS_REMOTE_WRITE) == IBV_WC_SUCCESS);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    windowed::invalidate(pair.self, IBV_WR_SEND_WITH_INV, rkey);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    std::optional<ibv_wc> wc = pair.other.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->status == IBV_WC_SUCCESS);
    BOOST_TEST(wc->wc_flags == unsigned{IBV_WC_WITH_INV});
    BOOST_TEST(wc->invalidated_rkey == rkey);
    BOOST_TEST(verbs().dereg_mr(pair.other.mr) == 0); // not bound any more
    pair.other.mr = nullptr;
    BOOST_TEST(pair.write(rkey) == IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(peer_may_not_invalidate_anything_else)
{
    windowed pair(IBV_MW_TYPE_2);
    uint32_t known = pair.other.mr->rkey;
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    windowed::invalidate(pair.self, IBV_WR_SEND_WITH_INV, known);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_ACCESS_ERR);
    BOOST_TEST(pair.other.wait_status() == IBV_WC_LOC_ACCESS_ERR);
    BOOST_TEST(pair.other.state() == IBV_QPS_ERR);
}

BOOST_AUTO_TEST_CASE(window_key_is_no_local_key)
{
    windowed pair(IBV_MW_TYPE_1);
    BOOST_TEST(pair.bind(part_bytes, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
    ibv_sge sge{reinterpret_cast<uint64_t>(pair.other.buffer + part), 8,
                pair.window->rkey};
    ibv_send_wr wr{}, *bad;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list    = &sge;
    wr.num_sge    = 1;
    BOOST_REQUIRE_EQUAL(ibv_post_send(pair.other.qp, &wr, &bad), 0);
    BOOST_TEST(pair.other.wait_status() == IBV_WC_LOC_PROT_ERR);
}

BOOST_AUTO_TEST_CASE(binding_waits_its_turn)
{
    // Behind a send that finds no receive; meanwhile nobody gets in.
    windowed pair(IBV_MW_TYPE_2);
    uint32_t rkey = ibv_inc_rkey(pair.window->rkey);
    BOOST_REQUIRE_EQUAL(pair.other.send(8), 0);
    ibv_send_wr wr{}, *bad;
    wr.opcode            = IBV_WR_BIND_MW;
    wr.send_flags        = IBV_SEND_SIGNALED;
    wr.bind_mw.mw        = pair.window;
    wr.bind_mw.rkey      = rkey;
    wr.bind_mw.bind_info = pair.info(part_bytes, IBV_ACCESS_REMOTE_WRITE);
    BOOST_REQUIRE_EQUAL(ibv_post_send(pair.other.qp, &wr, &bad), 0);
    BOOST_TEST(pair.other.silent(5));
    BOOST_REQUIRE_EQUAL(pair.self.post_receive(64), 0);
    BOOST_TEST(pair.other.wait_status() == IBV_WC_SUCCESS);
    std::optional<ibv_wc> wc = pair.other.wait();
    BOOST_REQUIRE(wc.has_value());
    BOOST_TEST(wc->opcode == IBV_WC_BIND_MW);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.write(rkey) == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(window_of_another_process)
{
    // Bound here, written to and invalidated from there.
    options wanted = bindable();
    endpoint self(wanted);
    servant other;
    BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    ibv_mw *window = ibv_alloc_mw(self.pd, IBV_MW_TYPE_1);
    BOOST_REQUIRE(window != nullptr);
    ibv_mw_bind request{};
    request.send_flags = IBV_SEND_SIGNALED;
    request.bind_info  = {self.mr, reinterpret_cast<uint64_t>(self.buffer), 64,
                          IBV_ACCESS_REMOTE_ATOMIC};
    BOOST_REQUIRE_EQUAL(ibv_bind_mw(self.qp, window, &request), 0);
    BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
    address target = self.own_address();
    target.rkey    = window->rkey;
    other.start_adding(target, 100);
    BOOST_TEST(other.adding_result() == 100u);
    BOOST_TEST(self.word(0) == 100u);
    BOOST_CHECK_EQUAL(ibv_dealloc_mw(window), 0);
    other.start_adding(target, 1);
    BOOST_TEST(other.adding_result() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
