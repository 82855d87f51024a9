// SPDX-License-Identifier: BSD-3-Clause
//
// The owners of verbs objects on the real software device.
#include "soft_fixture.hpp"

#include "verbs/discovery.hpp"
#include "verbs/error.hpp"
#include "verbs/gid.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>

using namespace be::verbs;
using namespace be::verbs::test;

namespace {

// The descriptor is readable within seconds.
bool becomes_readable(int fd)
{
    pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, 20000) == 1;
}

bool is_readable(int fd)
{
    pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
}

uint64_t address_of(const SoftFixture::Side &side, size_t offset)
{
    return reinterpret_cast<uintptr_t>(side.memory.data()) + offset;
}

} // namespace

BOOST_AUTO_TEST_SUITE(soft, *boost::unit_test::precondition(soft_device_is_there))

BOOST_AUTO_TEST_CASE(table_is_loaded_once_and_says_where_from)
{
    const Table *table = be::verbs::soft(nullptr);
    BOOST_TEST_REQUIRE(table != nullptr);
    BOOST_TEST(table->soft);
    BOOST_TEST(table->library.find("libsoftrdma") != std::string::npos);
    BOOST_TEST(be::verbs::soft(nullptr) == table);
    BOOST_TEST(hardware(nullptr) != table);
}

BOOST_AUTO_TEST_CASE(discovery_finds_it_usable)
{
    const Discovery result = discover(SoftMode::yes);
    BOOST_TEST_REQUIRE(result.any_usable());
    const PortReport &port = result.ports[0];
    BOOST_TEST(port.device.rfind(soft_device_prefix, 0) == 0u);
    BOOST_TEST(port.soft);
    BOOST_TEST(port.netdev == "lo");
    BOOST_TEST(port.rate > 0);
}

BOOST_FIXTURE_TEST_CASE(message_arrives_in_the_shared_receive_queue, SoftFixture)
{
    connect();
    b.post_receive(7, 0, 1024);
    std::fill_n(a.memory.begin(), 1000, 0xab);
    a.send(IBV_WR_SEND, 1, a.sge(0, 1000));

    const ibv_wc received = b.wait();
    BOOST_TEST((received.status == IBV_WC_SUCCESS));
    BOOST_TEST(received.wr_id == 7u);
    BOOST_TEST(received.byte_len == 1000u);
    BOOST_TEST(received.qp_num == b.qp.number());
    BOOST_TEST((b.memory[0] == 0xab && b.memory[999] == 0xab && b.memory[1000] == 0));
    const ibv_wc sent = a.wait();
    BOOST_TEST((sent.status == IBV_WC_SUCCESS));
    BOOST_TEST(sent.wr_id == 1u);
}

BOOST_FIXTURE_TEST_CASE(memory_is_written_and_read_one_sidedly, SoftFixture)
{
    connect();
    std::fill_n(a.memory.begin(), 20000, 0x11);
    a.send(IBV_WR_RDMA_WRITE, 1, a.sge(0, 20000), address_of(b, 100), b.region.rkey());
    BOOST_TEST((a.wait().status == IBV_WC_SUCCESS));
    BOOST_TEST((b.memory[99] == 0 && b.memory[100] == 0x11));
    BOOST_TEST((b.memory[20099] == 0x11 && b.memory[20100] == 0));

    b.memory[50] = 0x77;
    a.send(IBV_WR_RDMA_READ, 2, a.sge(30000, 64), address_of(b, 50), b.region.rkey());
    BOOST_TEST((a.wait().status == IBV_WC_SUCCESS));
    BOOST_TEST(a.memory[30000] == 0x77);
}

BOOST_FIXTURE_TEST_CASE(write_with_immediate_takes_a_receive, SoftFixture)
{
    connect();
    b.post_receive(3, 0, 64);
    a.memory[0] = 0x55;
    a.send(IBV_WR_RDMA_WRITE_WITH_IMM, 1, a.sge(0, 8), address_of(b, 4096),
           b.region.rkey());
    const ibv_wc received = b.wait();
    BOOST_TEST((received.status == IBV_WC_SUCCESS));
    BOOST_TEST((received.opcode == IBV_WC_RECV_RDMA_WITH_IMM));
    BOOST_TEST(received.imm_data == 0x01020304u);
    BOOST_TEST(b.memory[4096] == 0x55);
}

BOOST_FIXTURE_TEST_CASE(no_receive_is_an_error_at_once, SoftFixture)
{
    connect();
    a.send(IBV_WR_SEND, 1, a.sge(0, 8));
    BOOST_TEST((a.wait().status == IBV_WC_RNR_RETRY_EXC_ERR));
    BOOST_TEST((a.qp.state() == IBV_QPS_ERR));
}

BOOST_FIXTURE_TEST_CASE(wrong_key_is_refused_by_the_target, SoftFixture)
{
    connect();
    a.send(IBV_WR_RDMA_WRITE, 1, a.sge(0, 8), address_of(b, 0), b.region.rkey() + 0x1000);
    BOOST_TEST((a.wait().status == IBV_WC_REM_ACCESS_ERR));
    BOOST_TEST(b.memory[0] == 0);
}

BOOST_FIXTURE_TEST_CASE(failed_queue_pair_flushes_what_is_posted, SoftFixture)
{
    connect();
    BOOST_TEST(a.qp.to_error() == 0);
    a.send(IBV_WR_SEND, 5, a.sge(0, 8));
    const ibv_wc flushed = a.wait();
    BOOST_TEST((flushed.status == IBV_WC_WR_FLUSH_ERR));
    BOOST_TEST(flushed.wr_id == 5u);
    BOOST_TEST(to_string(flushed.status) == std::string("work request flushed"));
}

BOOST_FIXTURE_TEST_CASE(queue_pair_is_used_again_after_reset, SoftFixture)
{
    connect();
    BOOST_TEST(a.qp.to_error() == 0);
    BOOST_TEST(a.qp.to_reset() == 0);
    BOOST_TEST(b.qp.to_error() == 0);
    BOOST_TEST(b.qp.to_reset() == 0);
    connect();
    b.post_receive(1, 0, 64);
    a.send(IBV_WR_SEND, 1, a.sge(0, 8));
    BOOST_TEST((b.wait().status == IBV_WC_SUCCESS));
}

BOOST_FIXTURE_TEST_CASE(armed_queue_wakes_the_channel_once, SoftFixture)
{
    connect();
    b.post_receive(1, 0, 64);
    b.post_receive(2, 64, 64);
    BOOST_TEST(b.cq.arm() == 0);
    BOOST_TEST(!is_readable(b.channel.fd()));
    a.send(IBV_WR_SEND, 1, a.sge(0, 8));
    BOOST_TEST_REQUIRE(becomes_readable(b.channel.fd()));
    BOOST_TEST(b.channel.acknowledge() == 1u);
    BOOST_TEST(b.channel.acknowledge() == 0u);
    BOOST_TEST((b.wait().status == IBV_WC_SUCCESS));

    // Not armed again: no further event.
    a.send(IBV_WR_SEND, 2, a.sge(0, 8));
    BOOST_TEST((b.wait().status == IBV_WC_SUCCESS));
    BOOST_TEST(!is_readable(b.channel.fd()));
}

BOOST_FIXTURE_TEST_CASE(low_receive_queue_raises_an_event, SoftFixture)
{
    connect();
    AsyncEvents events(b.context);
    for (uint64_t id = 0; id < 4; ++id) {
        b.post_receive(id, id * 64, 64);
    }
    b.srq.set_limit(4);
    BOOST_TEST(!events.next());
    a.send(IBV_WR_SEND, 1, a.sge(0, 8));
    BOOST_TEST((b.wait().status == IBV_WC_SUCCESS));
    BOOST_TEST_REQUIRE(becomes_readable(events.fd()));
    const auto event = events.next();
    BOOST_TEST_REQUIRE(event.has_value());
    BOOST_TEST((event->type == IBV_EVENT_SRQ_LIMIT_REACHED));
    BOOST_TEST((event->subject == AsyncEvent::Subject::shared_receive_queue));
    BOOST_TEST(event->object == b.srq.get());
    BOOST_TEST(!events.next());
}

BOOST_FIXTURE_TEST_CASE(inline_sends_need_no_registration, SoftFixture)
{
    connect();
    BOOST_TEST_REQUIRE(a.qp.max_inline() >= 64u);
    b.post_receive(1, 0, 64);
    const char text[] = "not registered";
    ibv_sge entry     = {reinterpret_cast<uintptr_t>(text), sizeof(text), 0};
    ibv_send_wr work  = {};
    work.sg_list      = &entry;
    work.num_sge      = 1;
    work.opcode       = IBV_WR_SEND;
    work.send_flags   = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ibv_send_wr *bad  = nullptr;
    BOOST_TEST_REQUIRE(a.qp.post_send(&work, &bad) == 0);
    BOOST_TEST((b.wait().status == IBV_WC_SUCCESS));
    BOOST_TEST(memcmp(b.memory.data(), text, sizeof(text)) == 0);
}

BOOST_FIXTURE_TEST_CASE(errors_name_device_and_limit, SoftFixture)
{
    const auto names_device = [&](const Error &error) {
        return std::string(error.what()).find(a.context.device()) != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(CompletionQueue(a.context, 1u << 30), Error, names_device);
    BOOST_CHECK_EXCEPTION(SharedReceiveQueue(a.context, a.pd, 1u << 30), Error,
                          names_device);
    BOOST_CHECK_EXCEPTION(a.qp.to_rts({}), Error, names_device); // from reset
    BOOST_CHECK_EXCEPTION(a.context.port(99), Error, names_device);
    BOOST_CHECK_EXCEPTION(choose_gid(a.context, 1, 100000), Error, names_device);
    BOOST_CHECK_EXCEPTION(MemoryRegion(a.pd, nullptr, 64, all_access), Error,
                          names_device);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_left_behind, SoftFixture)
{
    BOOST_TEST(failed_destroys().load() == 0u);
    {
        const SoftFixture another;
    }
    BOOST_TEST(failed_destroys().load() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
