// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that sends what no peer may send, and strangers at the control port: they are counted and turned
// away, and receives, credits and the traffic of others are what they were.

#define BOOST_TEST_MODULE hostile
#include "world.hpp"

#include "core/wire.hpp"
#include "engine/address.hpp"
#include "engine/peer.hpp"
#include "fault/attack.hpp"

#include <cstring>
#include <netinet/in.h>
#include <string_view>

using namespace test;
using be::core::DataHeader;

namespace {

struct World {
    World() : server(device, small(device)), honest(device, device.config())
    {
        to_server = honest.connect(server);
        exchange(10);
    }

    // Few receives, so that one that is lost is missed.
    static be_fabric_config_t small(const Device &device)
    {
        be_fabric_config_t config = device.config();
        config.rx_capacity        = 8;
        config.rx_max             = 16;
        return config;
    }

    // The honest peer's messages arrive, all and unchanged.
    void exchange(unsigned count)
    {
        const size_t before = server.received.size();
        for (unsigned i = 0; i < count; ++i) {
            BOOST_REQUIRE_EQUAL(send_bcopy({&honest, &server}, to_server, 1,
                                           pattern(i % 500, i)),
                                BE_OK);
        }
        BOOST_REQUIRE(wait({&honest, &server},
                           [&] { return server.received.size() == before + count; }));
        for (unsigned i = 0; i < count; ++i) {
            BOOST_REQUIRE(server.received[before + i].data == pattern(i % 500, i));
        }
        BOOST_CHECK(honest.failed.empty());
    }

    Device device;
    Node server;
    Node honest;
    be_peer_t *to_server = nullptr;
};

// Posts past the engine, on the queue pair that a rogue shares with the server.
void post(be::engine::SendQueue &queue, const void *data, size_t length, int opcode,
          uint32_t immediate = 0)
{
    ibv_sge sge{reinterpret_cast<uint64_t>(data), static_cast<uint32_t>(length), 0};
    ibv_send_wr wr{};
    wr.sg_list       = &sge;
    wr.num_sge       = length != 0;
    wr.opcode        = static_cast<ibv_wr_opcode>(opcode);
    wr.send_flags    = IBV_SEND_INLINE;
    wr.imm_data      = htobe32(immediate);
    ibv_send_wr *bad = nullptr;
    BOOST_REQUIRE_EQUAL(queue.qp().post_send(&wr, &bad), 0);
}

// One message of a rogue that is connected and has sent one good message.
void attack(World &world, const char *what,
            const std::function<void(be::engine::Peer &)> &send)
{
    BOOST_TEST_CONTEXT(what)
    {
        const uint64_t lost_before = world.server.metric("peers_failed");
        const size_t before        = world.server.received.size();
        Node rogue(world.device, world.device.config());
        be_peer_t *peer = rogue.connect(world.server);
        BOOST_REQUIRE_EQUAL(send_bcopy({&rogue, &world.server}, peer, 1, pattern(9, 9)),
                            BE_OK);
        BOOST_REQUIRE(wait({&rogue, &world.server},
                           [&] { return world.server.received.size() == before + 1; }));

        send(static_cast<be::engine::Link *>(peer)->peer);
        BOOST_CHECK(wait({&rogue, &world.server}, [&] {
            return world.server.metric("peers_failed") == lost_before + 1 &&
                   world.server.metric("peers") == 1 && rogue.failed.size() == 1;
        }));
        BOOST_CHECK_EQUAL(world.server.received.size(), before + 1);
        world.exchange(100);
        // What flow control believes to be posted is.
        BOOST_CHECK(wait({&world.server}, [&] {
            return world.server.metric("credit_posted") ==
                   world.server.metric("credit_capacity");
        }));
        BOOST_CHECK_EQUAL(world.server.metric("credit_posted"),
                          world.server.metric("receive_buffers_used"));
        BOOST_CHECK_LE(world.server.metric("credit_outstanding"),
                       world.server.metric("credit_posted"));
    }
}

// A second message (the first has sequence number 0) with one field changed.
std::function<void(be::engine::Peer &)>
header(const std::function<void(DataHeader &)> &change, size_t length = 16)
{
    return [=](be::engine::Peer &peer) {
        DataHeader good;
        good.seq = 1;
        change(good);
        std::array<std::byte, be::core::data_header_size> bytes;
        be::core::encode(good, bytes);
        post(peer.messages, bytes.data(), length, IBV_WR_SEND);
    };
}

} // namespace

BOOST_AUTO_TEST_CASE(
        a_malformed_message_costs_its_sender_the_connection_and_nobody_a_receive)
{
    World world;
    // More attacks than there are receives.
    for (unsigned round = 0; round < 4; ++round) {
        attack(world, "no bytes", header([](DataHeader &) {}, 0));
        attack(world, "half a header", header([](DataHeader &) {}, 7));
        attack(world, "version", header([](DataHeader &h) { h.version = 9; }));
        attack(world, "kind", header([](DataHeader &h) {
                   h.kind = static_cast<be::core::HeaderKind>(77);
               }));
        attack(world, "reserved bits", header([](DataHeader &h) { h.reserved = 1; }));
        attack(world, "unknown word of an interface", header([](DataHeader &h) {
                   h.kind  = be::core::HeaderKind::credit;
                   h.flags = 9;
               }));
        attack(world, "a gap", header([](DataHeader &h) { h.seq = 5; }));
        attack(world, "unknown notice", [](be::engine::Peer &peer) {
            post(peer.bulk, nullptr, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0xf0000001u);
        });
        attack(world, "unused notice", [](be::engine::Peer &peer) {
            post(peer.bulk, nullptr, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0x30000001u);
        });
    }
    BOOST_CHECK_GE(world.server.metric("messages_dropped"), 4u * 6u);
    BOOST_CHECK_EQUAL(world.server.metric("rnr"), 0u);
    world.exchange(2000);
}

BOOST_AUTO_TEST_CASE(a_repeated_message_is_dropped_and_nothing_else)
{
    World world;
    Node rogue(world.device, world.device.config());
    be_peer_t *peer = rogue.connect(world.server);
    BOOST_REQUIRE_EQUAL(send_bcopy({&rogue, &world.server}, peer, 1, pattern(9, 9)),
                        BE_OK);
    const uint64_t dropped = world.server.metric("messages_dropped");
    BOOST_REQUIRE(wait({&rogue, &world.server},
                       [&] { return world.server.received.size() == 11; }));
    header([](DataHeader &h) { h.seq = 0; })(static_cast<be::engine::Link *>(peer)->peer);
    BOOST_CHECK(wait({&rogue, &world.server}, [&] {
        return world.server.metric("messages_dropped") == dropped + 1;
    }));
    BOOST_CHECK_EQUAL(world.server.received.size(), 11u);
    BOOST_CHECK_EQUAL(world.server.metric("peers"), 2u);
    world.exchange(500);
}

BOOST_AUTO_TEST_CASE(what_concerns_an_interface_that_does_not_exist_harms_nobody)
{
    World world;
    Node rogue(world.device, world.device.config());
    be_peer_t *peer = rogue.connect(world.server);
    BOOST_REQUIRE_EQUAL(send_bcopy({&rogue, &world.server}, peer, 1, pattern(9, 9)),
                        BE_OK);
    BOOST_REQUIRE(wait({&rogue, &world.server},
                       [&] { return world.server.received.size() == 11; }));
    const uint64_t dropped = world.server.metric("messages_dropped");
    be::engine::Peer &to   = static_cast<be::engine::Link *>(peer)->peer;
    header([](DataHeader &h) { h.dst_iface = 777; })(to);
    const auto said = [&](uint8_t what, uint32_t seq) {
        header([=](DataHeader &h) {
            h.kind      = be::core::HeaderKind::credit;
            h.flags     = what;
            h.dst_iface = 888;
            h.seq       = seq;
        })(to);
    };
    said(be::engine::Note::hold, 2);
    said(be::engine::Note::resume, 3);
    said(be::engine::Note::gone, 4);
    // The message is dropped and answered; nothing else changes.
    BOOST_CHECK(wait({&rogue, &world.server}, [&] {
        return world.server.metric("messages_dropped") == dropped + 1 &&
               to.gone.contains(777);
    }));
    BOOST_CHECK_EQUAL(world.server.received.size(), 11u);
    BOOST_CHECK_EQUAL(world.server.metric("peers"), 2u);
    world.exchange(500);
}

BOOST_AUTO_TEST_CASE(strangers_at_the_control_port_are_counted_and_disturb_nobody)
{
    World world;
    uint8_t bytes[BE_FABRIC_ADDR_LEN];
    be_fabric_address(world.server.fabric, bytes);
    const auto address = be::engine::FabricAddress::decode(bytes);
    BOOST_REQUIRE(address.has_value());
    const be::test::Listening target{INADDR_LOOPBACK, address->control.port};

    unsigned tried = 0;
    for (const be::test::Attack &attack : be::test::attacks()) {
        // The rest needs the control channel's time-outs, or is dropped before it says anything.
        if (std::string_view("garbage oversized truncated reflected").find(attack.name) ==
            std::string_view::npos) {
            continue;
        }
        BOOST_TEST_CONTEXT(attack.name)
        {
            const uint64_t before = world.server.metric("control_rejected");
            BOOST_CHECK_EQUAL(attack.run(target), 0u);
            BOOST_CHECK(wait({&world.server}, [&] {
                return world.server.metric("control_rejected") > before;
            }));
            world.exchange(200);
            ++tried;
        }
    }
    BOOST_CHECK_EQUAL(tried, 4u);
    BOOST_CHECK_EQUAL(world.server.metric("peers_failed"), 0u);
}
