// SPDX-License-Identifier: BSD-3-Clause
#include "soft_fixture.hpp"

#include "verbs/gid.hpp"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace be::verbs::test {
namespace {

constexpr uint8_t timeout_code = 10; // 4.096 us * 2^10: 4 ms a try

// Makes verbs::soft() look into the build tree.
void point_to_build_tree()
{
    const char *folder = getenv("BE_MODULEDIR");
    if (folder != nullptr) {
        const std::string file = std::string(folder) + "/libsoftrdma.so";
        if (access(file.c_str(), R_OK) == 0) {
            setenv("UCX_BE_SOFT_LIBRARY", file.c_str(), 0);
        }
    }
}

void connect_one(SoftFixture::Side &mine, const SoftFixture::Side &other)
{
    const ibv_port_attr port = other.context.port(1);
    RemoteEnd remote;
    remote.qpn = other.qp.number();
    remote.psn = 100;
    remote.lid = port.lid;
    remote.gid = choose_gid(other.context, 1, -1).value;
    LocalEnd local;
    local.mtu                = port.active_mtu;
    local.max_dest_rd_atomic = 4;
    local.global             = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    SendLimits limits;
    limits.psn           = 100;
    limits.timeout       = timeout_code;
    limits.retry_count   = 2;
    limits.max_rd_atomic = 4;

    mine.qp.to_init(1, all_access);
    mine.qp.to_rtr(remote, local);
    mine.qp.to_rts(limits);
}

std::string first_device(const Table &table)
{
    int count         = 0;
    ibv_device **list = table.get_device_list(&count);
    if ((list == nullptr) || (count == 0)) {
        throw std::runtime_error("the software device lists no device");
    }
    const std::string name = table.get_device_name(list[0]);
    table.free_device_list(list);
    return name;
}

QueuePairCapacity capacity()
{
    QueuePairCapacity result;
    result.max_sends    = 32;
    result.max_send_sge = 2;
    result.max_inline   = 64;
    return result;
}

} // namespace

boost::test_tools::assertion_result soft_device_is_there(boost::unit_test::test_unit_id)
{
    point_to_build_tree();
    std::string why;
    boost::test_tools::assertion_result result(soft(&why) != nullptr);
    if (!result) {
        const char *ci = getenv("CI");
        if ((ci != nullptr) && (std::string(ci) == "true")) {
            throw std::runtime_error("no software device: " + why);
        }
        result.message() << "no software device: " << why;
    }
    return result;
}

SoftFixture::Side::Side(const Table &table) :
    context(table, first_device(table)),
    pd(context),
    channel(context),
    cq(context, 128, &channel),
    srq(context, pd, receives),
    qp(context, pd, cq, cq, &srq, capacity()),
    memory(memory_size),
    region(pd, memory.data(), memory.size(), all_access)
{
}

ibv_sge SoftFixture::Side::sge(size_t offset, size_t length) const
{
    ibv_sge result = {};
    result.addr    = reinterpret_cast<uintptr_t>(memory.data()) + offset;
    result.length  = static_cast<uint32_t>(length);
    result.lkey    = region.lkey();
    return result;
}

void SoftFixture::Side::post_receive(uint64_t id, size_t offset, size_t length)
{
    ibv_sge entry    = sge(offset, length);
    ibv_recv_wr work = {};
    work.wr_id       = id;
    work.sg_list     = &entry;
    work.num_sge     = 1;
    ibv_recv_wr *bad = nullptr;
    BOOST_TEST_REQUIRE(srq.post(&work, &bad) == 0);
}

void SoftFixture::Side::send(ibv_wr_opcode opcode, uint64_t id, ibv_sge entry,
                             uint64_t remote, uint32_t rkey)
{
    ibv_send_wr work         = {};
    work.wr_id               = id;
    work.sg_list             = &entry;
    work.num_sge             = 1;
    work.opcode              = opcode;
    work.send_flags          = IBV_SEND_SIGNALED;
    work.imm_data            = 0x01020304;
    work.wr.rdma.remote_addr = remote;
    work.wr.rdma.rkey        = rkey;
    ibv_send_wr *bad         = nullptr;
    BOOST_TEST_REQUIRE(qp.post_send(&work, &bad) == 0);
}

ibv_wc SoftFixture::Side::wait()
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::array<ibv_wc, 1> completion;
    for (;;) {
        const int count = cq.poll(completion);
        BOOST_TEST_REQUIRE(count >= 0);
        if (count == 1) {
            return completion[0];
        }
        BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < deadline));
        sched_yield();
    }
}

SoftFixture::SoftFixture() : table(load()), a(table), b(table)
{
}

SoftFixture::~SoftFixture() = default;

const Table &SoftFixture::load()
{
    const Table *table = soft(nullptr);
    BOOST_TEST_REQUIRE(table != nullptr);
    return *table;
}

void SoftFixture::connect()
{
    connect_one(a, b);
    connect_one(b, a);
}

} // namespace be::verbs::test
