// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queues that change their size.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cerrno>

using namespace softtest;

namespace {

options shared(uint32_t depth)
{
    options wanted;
    wanted.shared_receives = true;
    wanted.recv_depth      = depth;
    wanted.cqe             = 4096;
    return wanted;
}

int resize(endpoint &self, uint32_t depth)
{
    ibv_srq_attr attr{};
    attr.max_wr = depth;
    return verbs().modify_srq(self.srq, &attr, IBV_SRQ_MAX_WR);
}

uint32_t size(endpoint &self)
{
    ibv_srq_attr attr{};
    BOOST_REQUIRE_EQUAL(verbs().query_srq(self.srq, &attr), 0);
    return attr.max_wr;
}

// Posts receives numbered from `first` until the queue is full; the number after the last one.
uint64_t fill(endpoint &self, uint64_t first)
{
    while (self.post_receive(16384, 0, first) == 0) {
        ++first;
    }
    return first;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shared_receive_queue)

BOOST_AUTO_TEST_CASE(queue_grows_with_its_receives_in_it)
{
    endpoint self(shared(3));
    servant other;
    BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    uint64_t expected = 0, posted = fill(self, 0);
    BOOST_TEST(posted == 3u);
    for (uint32_t depth : {4u, 9u, 100u, 1000u}) {
        // Some are consumed, so that the queue's ends are anywhere.
        other.start_sending(64, 2);
        BOOST_TEST(other.sending_result() == 2u);
        BOOST_TEST(resize(self, depth) == 0);
        BOOST_TEST(size(self) == depth);
        for (int i = 0; i < 2; ++i) {
            std::optional<ibv_wc> wc = self.wait();
            BOOST_REQUIRE(wc.has_value());
            BOOST_TEST(wc->status == IBV_WC_SUCCESS);
            BOOST_TEST(wc->wr_id == expected++);
        }
        posted = fill(self, posted);
        BOOST_TEST(posted - expected == depth);
    }
    other.start_sending(9000, 1000);
    BOOST_TEST(other.sending_result() == 1000u);
    for (int i = 0; i < 1000; ++i) {
        std::optional<ibv_wc> wc = self.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_REQUIRE_EQUAL(wc->wr_id, expected++);
    }
}

BOOST_AUTO_TEST_CASE(queue_shrinks_to_what_is_in_use_at_least)
{
    endpoint self(shared(64));
    for (int i = 0; i < 10; ++i) {
        BOOST_REQUIRE_EQUAL(self.post_receive(64), 0);
    }
    BOOST_TEST(resize(self, 9) == EINVAL);
    BOOST_TEST(size(self) == 64u);
    BOOST_TEST(resize(self, 11) == 0);
    BOOST_TEST(self.post_receive(64) == 0);
    BOOST_TEST(self.post_receive(64) == ENOMEM);
    BOOST_TEST(resize(self, 12) == 0);
    BOOST_TEST(self.post_receive(64) == 0);
    BOOST_TEST(self.post_receive(64) == ENOMEM);
}

BOOST_AUTO_TEST_CASE(size_has_limits)
{
    endpoint self(shared(16));
    ibv_device_attr device;
    BOOST_REQUIRE_EQUAL(verbs().query_device(self.context, &device), 0);
    BOOST_TEST((device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE) != 0u);
    BOOST_TEST(resize(self, 0) == EINVAL);
    BOOST_TEST(resize(self, static_cast<uint32_t>(device.max_srq_wr) + 1) == EINVAL);
    BOOST_TEST(resize(self, static_cast<uint32_t>(device.max_srq_wr)) == 0);
    ibv_srq_attr attr{};
    attr.max_wr    = 8;
    attr.srq_limit = 9;
    BOOST_TEST(verbs().modify_srq(self.srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) ==
               EINVAL);
}

BOOST_AUTO_TEST_CASE(queue_changes_while_it_is_used)
{
    endpoint self(shared(8));
    servant other;
    BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    constexpr uint32_t messages = 20000;
    other.start_sending(64, messages);
    uint32_t arrived = 0, sizes = 0;
    double give_up = now_ms() + patience_ms;
    while ((arrived < messages) && (now_ms() < give_up)) {
        fill(self, 0);
        ibv_wc wc[16];
        int count = ibv_poll_cq(self.cq, 16, wc);
        for (int i = 0; i < count; ++i) {
            BOOST_REQUIRE_EQUAL(int{wc[i].status}, int{IBV_WC_SUCCESS});
        }
        arrived += static_cast<uint32_t>(count);
        sizes += resize(self, 8 + (arrived / 16) % 500) == 0;
    }
    BOOST_TEST(arrived == messages);
    BOOST_TEST(sizes > 100u);
    BOOST_TEST(other.sending_result() == messages);
}

BOOST_AUTO_TEST_SUITE_END()
