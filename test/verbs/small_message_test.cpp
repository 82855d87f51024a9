// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that travel in their completion: what the owner of a receive queue vouches for, what happens when
// that does not hold, and how receives come back.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "softrdma/freed_slots.h"
#include "softrdma/vouching.h"

#include <cstring>

using namespace softtest;
using softrdma::freed_slots;
using softrdma::rq_shared;
using softrdma::vouching;

namespace {

constexpr uint32_t small = softrdma::limits::carried_bytes;

struct vouched_queue {
    vouched_queue()
    {
        owner.start(queue, 5);
    }

    void post(uint32_t bytes, uint32_t epoch)
    {
        owner.add(queue, tail++, bytes, epoch);
    }

    // Whether a claimer may do without a look at a receive of that size.
    bool covers(uint32_t bytes, uint32_t epoch) const
    {
        return (queue.vouched.epoch == epoch) && (bytes <= queue.vouched.bytes);
    }

    rq_shared queue{};
    vouching owner;
    uint32_t tail = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(small_message)

BOOST_AUTO_TEST_CASE(the_smallest_receive_counts)
{
    vouched_queue tested;
    tested.post(4096, 5);
    BOOST_TEST(tested.covers(4096, 5));
    BOOST_TEST(!tested.covers(4097, 5));
    tested.post(16, 5);
    tested.post(4096, 5);
    BOOST_TEST(tested.covers(16, 5));
    BOOST_TEST(!tested.covers(17, 5));
    tested.post(0, 5); // not in registered memory
    BOOST_TEST(tested.covers(0, 5));
    BOOST_TEST(!tested.covers(1, 5));
}

BOOST_AUTO_TEST_CASE(a_region_that_goes_ends_it_until_older_receives_are_claimed)
{
    vouched_queue tested;
    for (int i = 0; i < 20; ++i) {
        tested.post(64, 5);
    }
    BOOST_TEST(!tested.covers(8, 6)); // the region has gone
    for (int i = 0; i < 40; ++i) {
        tested.post(64, 6);
        BOOST_TEST(!tested.covers(8, 6)); // the first twenty are still there
    }
    tested.queue.head = 20;
    for (int i = 0; i < 16; ++i) {
        tested.post(64, 6);
    }
    BOOST_TEST(tested.covers(64, 6));
    BOOST_TEST(!tested.covers(65, 6));
}

BOOST_AUTO_TEST_CASE(slots_come_back_in_turn_and_survive_growth)
{
    freed_slots freed;
    freed.resize(3);
    std::vector<uint32_t> free;
    for (uint32_t round = 0; round < 5; ++round) {
        for (uint32_t slot = 0; slot < 3; ++slot) {
            freed.push(slot);
        }
        freed.drain(free);
    }
    BOOST_TEST(free.size() == 15u);
    freed.push(1);
    freed.push(2);
    freed.resize(100);
    for (uint32_t slot = 3; slot < 100; ++slot) {
        freed.push(slot);
    }
    free.clear();
    freed.drain(free);
    BOOST_REQUIRE(free.size() == 99u);
    BOOST_TEST(free.front() == 1u);
    BOOST_TEST(free.back() == 99u);
    freed.push(7);
    freed.clear();
    free.clear();
    freed.drain(free);
    BOOST_TEST(free.empty());
}

BOOST_AUTO_TEST_CASE(a_short_receive_among_long_ones_is_noticed)
{
    for (bool shared : {false, true}) {
        options wanted;
        wanted.shared_receives = shared;
        connected pair(wanted, wanted);
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(4096), 0);
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(small - 1), 0);
        BOOST_REQUIRE_EQUAL(pair.other.post_receive(4096), 0);
        BOOST_REQUIRE_EQUAL(pair.self.send(small), 0);
        BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
        BOOST_REQUIRE_EQUAL(pair.self.send(small), 0);
        BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_INV_REQ_ERR);
        BOOST_TEST(pair.other.wait().status == IBV_WC_LOC_LEN_ERR);
    }
}

BOOST_AUTO_TEST_CASE(shared_receives_in_memory_that_is_gone_are_an_error)
{
    options wanted;
    wanted.shared_receives = true;
    connected pair(wanted, wanted);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.other.post_receive(64), 0);
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_SUCCESS);
    BOOST_TEST(pair.other.wait().status == IBV_WC_SUCCESS);
    pair.other.deregister();
    BOOST_REQUIRE_EQUAL(pair.self.send(8), 0);
    BOOST_TEST(pair.self.wait_status() == IBV_WC_REM_OP_ERR);
    BOOST_TEST(pair.other.wait().status == IBV_WC_LOC_PROT_ERR);
}

BOOST_AUTO_TEST_CASE(messages_go_on_while_other_regions_come_and_go)
{
    for (bool shared : {false, true}) {
        options wanted;
        wanted.shared_receives = shared;
        endpoint a(wanted), b(wanted);
        BOOST_REQUIRE_EQUAL(a.connect(b.own_address()), 0);
        BOOST_REQUIRE_EQUAL(b.connect(a.own_address()), 0);
        std::vector<char> other(4096);
        for (uint64_t i = 0; i < 8; ++i) {
            BOOST_REQUIRE_EQUAL(b.post_receive(small, i * small, i), 0);
        }
        for (uint64_t i = 0; i < 200; ++i) {
            if (i % 50 == 7) {
                ibv_mr *mr = verbs().reg_mr(b.pd, other.data(), other.size(),
                                            IBV_ACCESS_LOCAL_WRITE);
                BOOST_REQUIRE(mr != nullptr);
                BOOST_REQUIRE_EQUAL(verbs().dereg_mr(mr), 0);
            }
            a.word(0) = i * 3;
            BOOST_REQUIRE_EQUAL(a.send(uint32_t(i % small + 1)), 0);
            BOOST_TEST(a.wait_status() == IBV_WC_SUCCESS);
            auto wc = b.wait();
            BOOST_REQUIRE(wc.has_value());
            BOOST_TEST(wc->wr_id == i);
            BOOST_TEST(wc->byte_len == i % small + 1);
            BOOST_TEST(memcmp(a.buffer, b.buffer + (i % 8) * small, wc->byte_len) == 0);
            BOOST_REQUIRE_EQUAL(b.post_receive(small, (i % 8) * small, i + 8), 0);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
