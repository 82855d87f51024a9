// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that has proved who it is and means no good, while data goes over the side channel. It may lose its
// connection; it must not write or read what it may not, nor take more memory or time of the other than is bounded.

#define BOOST_TEST_MODULE fallback_hostile
#include "falling.hpp"

#include "engine/tcp_frame.hpp"
#include "lib/procfs.hpp"
#include "lib/sanitized.hpp"

#include <thread>

using namespace test;

namespace {

using be::engine::TcpFrame;
using Kind = TcpFrame::Kind;

// `a` is the hostile one.
struct Hostile : Fallen {
    using Fallen::Fallen;

    // False: the channel does not take it now.
    bool send(const TcpFrame &frame, std::span<const std::uint8_t> payload = {})
    {
        const auto &from = a.engine_peer();
        return be::control::Node::acquire()->data(from.connection,
                                                  {static_cast<std::uint8_t>(frame.kind),
                                                   from.recovery.epoch(), encode(frame),
                                                   payload});
    }

    bool b_has_had_enough()
    {
        return wait({&b.node}, [&] { return !b.node.failed.empty(); });
    }
};

uint64_t address_of(const uint8_t *place)
{
    return reinterpret_cast<uint64_t>(place);
}

} // namespace

BOOST_AUTO_TEST_CASE(nonsense_costs_the_peer_its_connection)
{
    Device device;
    const TcpFrame wrong[] = {
            {.kind = Kind::reply, .last = true, .bulk = true, .number = 5},
            {.kind = Kind::done, .number = 1000000},
            {.kind = Kind::done, .bulk = true, .number = 1000000},
            {.kind = Kind::refused, .value = 300},
            {.kind = Kind::read, .length = 8},
            {.kind = Kind::write, .bulk = true, .notice = true, .value = ~0u},
            {.kind = Kind::message, .last = true, .length = 0}, // no header
            {.kind = Kind::message, .length = 1u << 30, .offset = 0},
            {.kind = Kind::message, .length = 100, .offset = 50}};
    for (TcpFrame frame : wrong) {
        BOOST_TEST_CONTEXT("kind " << static_cast<unsigned>(frame.kind) << ", length "
                                   << frame.length)
        {
            Hostile pair(device);
            const bool some = frame.length != 0 && frame.kind == Kind::message;
            frame.last      = frame.last || frame.kind == Kind::write;
            const std::vector<uint8_t> payload(some ? 8 : 0);
            pair.send_frame(pair.b, static_cast<uint8_t>(frame.kind), encode(frame),
                            payload);
            BOOST_CHECK(pair.progress_until([&] {
                return !pair.a.node.failed.empty() && !pair.b.node.failed.empty();
            }));
            BOOST_CHECK_NE(std::string(be_peer_failure(pair.b.peer)), "");
            set_link(true);
        }
    }
}

// No header, any header: at worst the connection ends.
BOOST_AUTO_TEST_CASE(random_frames_do_no_harm)
{
    Device device;
    for (unsigned seed = 1; seed <= 10; ++seed) {
        Hostile pair(device);
        std::mt19937_64 random(seed);
        for (unsigned i = 0; i < 300 && pair.b.node.failed.empty(); ++i) {
            std::vector<uint8_t> header(random() % 16 == 0 ? random() % 64 : 32);
            for (uint8_t &byte : header) {
                byte = random() % 4 == 0 ? static_cast<uint8_t>(random() % 16) : 0;
            }
            const std::vector<uint8_t> payload(random() % 4 == 0 ? random() % 100 : 0);
            if (!pair.a.node.failed.empty() || pair.a.engine_peer().connection == 0) {
                break;
            }
            // Of an epoch that is over, nothing counts.
            const auto &from = pair.a.engine_peer();
            (void)be::control::Node::acquire()->data(
                    from.connection,
                    {static_cast<uint8_t>(random() % 8),
                     from.recovery.epoch() - static_cast<uint32_t>(i < 100), header,
                     payload});
            (void)be_fabric_progress(pair.b.node.fabric);
            (void)be_fabric_progress(pair.a.node.fabric);
            BOOST_REQUIRE(i >= 100 || pair.b.node.failed.empty());
        }
        BOOST_CHECK(pair.progress_until([&] { return !pair.b.node.failed.empty(); }));
        set_link(true);
    }
}

// Of a write that is not allowed not even the first piece is executed, as by RDMA.
BOOST_AUTO_TEST_CASE(a_write_is_judged_as_a_whole)
{
    Device device;
    const std::vector<uint8_t> bytes(1000, 7);
    std::vector<uint8_t> buffer(4096, 5);
    be_mem_t mem{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, buffer.data(), buffer.size(),
                                        BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT, 0, &mem),
                        BE_OK);
    const uint64_t at      = address_of(buffer.data());
    const TcpFrame wrong[] = {// its end is outside
                              {.kind    = Kind::write,
                               .bulk    = true,
                               .key     = mem.rkey,
                               .length  = 4097,
                               .address = at},
                              // its beginning is
                              {.kind    = Kind::write,
                               .bulk    = true,
                               .key     = mem.rkey,
                               .length  = 2000,
                               .offset  = 8,
                               .address = at - 8},
                              // it goes around the end of all memory
                              {.kind    = Kind::write,
                               .bulk    = true,
                               .key     = mem.rkey,
                               .length  = ~0u,
                               .offset  = ~0u - 2000,
                               .address = at - (~0u - 2000)},
                              {.kind    = Kind::write,
                               .last    = true,
                               .bulk    = true,
                               .key     = mem.rkey,
                               .length  = 1000,
                               .address = ~uint64_t{0} - 10}};
    for (const TcpFrame &frame : wrong) {
        BOOST_TEST_CONTEXT("length " << frame.length << ", offset " << frame.offset)
        {
            Hostile pair(device);
            BOOST_REQUIRE(pair.send(frame, bytes));
            BOOST_CHECK(pair.progress_until([&] { return !pair.a.node.failed.empty(); }));
            BOOST_CHECK(std::all_of(buffer.begin(), buffer.end(),
                                    [](uint8_t byte) { return byte == 5; }));
            set_link(true);
        }
    }
    be_mem_deregister(device.md, &mem);
}

// Nobody is told more than once that what is read has gone, and nothing more of it is served.
BOOST_AUTO_TEST_CASE(what_is_deregistered_while_it_is_read_is_refused_once)
{
    Device device;
    Hostile pair(device);
    std::vector<uint8_t> buffer(8u << 20, 5);
    be_mem_t mem{};
    BOOST_REQUIRE_EQUAL(be_mem_register(device.md, buffer.data(), buffer.size(),
                                        BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_GET, 0, &mem),
                        BE_OK);
    BOOST_REQUIRE(pair.send({.kind    = Kind::read,
                             .bulk    = true,
                             .key     = mem.rkey,
                             .length  = 8u << 20,
                             .address = address_of(buffer.data())}));
    const auto serving = [&] {
        const auto &tcp = pair.b.engine_peer().tcp;
        return tcp != nullptr && !tcp->serving.empty();
    };
    BOOST_REQUIRE(wait({&pair.b.node}, serving));
    be_mem_deregister(device.md, &mem);
    const auto node     = be::control::Node::acquire();
    const uint64_t sent = node->counters().messages_out;
    BOOST_REQUIRE(wait({&pair.b.node},
                       [&] { return !serving() || pair.b.engine_peer().tcp->refused; }));
    for (unsigned i = 0; i < 1000; ++i) {
        be_fabric_progress(pair.b.node.fabric);
    }
    BOOST_CHECK(pair.progress_until(
            [&] { return !pair.a.node.failed.empty() && !pair.b.node.failed.empty(); }));
    BOOST_CHECK_LT(node->counters().messages_out - sent, 200);
}

// Who asks for much gets it bit by bit: the thread that serves has other things to do.
BOOST_AUTO_TEST_CASE(many_reads_are_not_served_in_one_go)
{
    constexpr unsigned count = 1000;
    Device device;
    Hostile pair(device);
    const auto node      = be::control::Node::acquire();
    const uint64_t heard = node->counters().messages_in;
    for (unsigned i = 0; i < count; ++i) {
        BOOST_REQUIRE(pair.send({.kind    = Kind::read,
                                 .bulk    = true,
                                 .number  = i,
                                 .key     = pair.b.memory.mem.rkey,
                                 .length  = 8,
                                 .address = address_of(pair.b.memory.at(0))}));
    }
    BOOST_REQUIRE(
            wait({}, [&] { return node->counters().messages_in >= heard + count; }));
    const auto left = [&] { return pair.b.engine_peer().tcp->serving.size(); };
    be_fabric_progress(pair.b.node.fabric);
    BOOST_CHECK_GE(left(), count / 2);
    BOOST_CHECK(wait({&pair.b.node}, [&] { return left() == 0; }));
}

// However small they are, and although none of them has bytes.
BOOST_AUTO_TEST_CASE(frames_that_nobody_looks_at_take_little_memory)
{
    constexpr unsigned most = 400000;
    Device device;
    const std::vector<uint8_t> byte(1);
    for (const bool empty : {true, false}) {
        Hostile pair(device);
        // Nothing is done by the first, nothing follows from the others until they are looked at.
        const TcpFrame frame = empty ? TcpFrame{.kind = Kind::done, .number = ~0u} :
                                       TcpFrame{.kind = Kind::message, .length = 2};
        const size_t before  = be::test::footprint(::getpid()).resident;
        unsigned sent        = 0;
        // As long as the channel takes any within a second.
        for (auto last = std::chrono::steady_clock::now();
             sent < most &&
             std::chrono::steady_clock::now() - last < std::chrono::seconds(1);) {
            if (pair.send(frame, std::span(byte).first(empty ? 0 : 1))) {
                ++sent;
                last = std::chrono::steady_clock::now();
            } else {
                std::this_thread::yield();
            }
        }
        const size_t after = be::test::footprint(::getpid()).resident;
        BOOST_TEST_MESSAGE(sent << " frames, " << (after - before) / 1024 << " KiB");
        BOOST_CHECK_LT(sent, most);
        if (!be::test::sanitized) { // which keeps what is freed
            BOOST_CHECK_LT(after, before + (16u << 20));
        }
        if (empty) {
            // They are taken, and those that still wait to be sent are, too.
            BOOST_CHECK(pair.progress_until([&] { return pair.send(frame); }));
            pair.act(100);
            pair.settle();
        } else {
            BOOST_CHECK(pair.b_has_had_enough());
        }
        set_link(true);
    }
}
