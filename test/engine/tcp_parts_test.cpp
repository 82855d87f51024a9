// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of data over TCP that need neither device nor channel: frames, and the keys that a target checks.

#define BOOST_TEST_MODULE tcp_parts
#include "engine/remote_keys.hpp"
#include "engine/tcp_frame.hpp"

#include <boost/test/unit_test.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

using namespace be::engine;
using Kind = TcpFrame::Kind;

namespace {

std::string said(const TcpFrame &frame, std::size_t payload)
{
    TcpFrame read;
    const TcpHeader header = encode(frame);
    return std::string(
            decode(static_cast<std::uint8_t>(frame.kind), header, payload, read));
}

std::uint64_t address_of(const void *place)
{
    return reinterpret_cast<std::uint64_t>(place);
}

} // namespace

BOOST_AUTO_TEST_CASE(frames_survive_the_journey)
{
    const struct {
        TcpFrame frame;
        std::size_t payload;
    } good[] = {
            {{.kind = Kind::message, .number = 0xfffffff0, .length = 100, .offset = 20},
             30},
            {{.kind = Kind::message, .last = true, .length = 100, .offset = 20}, 80},
            {{.kind    = Kind::write,
              .last    = true,
              .bulk    = true,
              .notice  = true,
              .number  = 7,
              .value   = 0xdeadbeef,
              .key     = 0x12345678,
              .length  = 5,
              .address = 0xfedcba9876543210u},
             5},
            {{.kind = Kind::write, .last = true, .bulk = true, .counted = true}, 0},
            {{.kind = Kind::read, .bulk = true, .key = 3, .length = 1u << 20}, 0},
            {{.kind = Kind::reply, .bulk = true, .length = 8, .offset = 4}, 2},
            {{.kind = Kind::done, .number = 9}, 0},
            {{.kind = Kind::refused, .bulk = true, .value = 2}, 0}};
    for (const auto &[frame, payload] : good) {
        TcpFrame read;
        BOOST_CHECK_EQUAL(decode(static_cast<std::uint8_t>(frame.kind), encode(frame),
                                 payload, read),
                          "");
        BOOST_CHECK(read == frame);
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_a_frame_is_refused)
{
    TcpFrame read, untouched;
    TcpHeader header = encode({.kind = Kind::done});
    for (std::size_t size = 0; size < header.size(); ++size) {
        BOOST_CHECK_NE(decode(5, {header.data(), size}, 0, read), "");
    }
    const std::array<std::uint8_t, tcp_header_size + 1> longer{};
    BOOST_CHECK_NE(decode(5, longer, 0, read), "");
    for (unsigned kind = 0; kind < 256; ++kind) {
        const bool known = kind >= 1 && kind <= 6;
        BOOST_CHECK_EQUAL(decode(static_cast<std::uint8_t>(kind),
                                 encode({.last = kind < 3 || kind == 4}), 0, read)
                                  .empty(),
                          known);
    }
    read = {};
    for (unsigned bit = 4; bit < 32; ++bit) {
        TcpHeader odd = header;
        odd[bit / 8]  = static_cast<std::uint8_t>(1u << bit % 8);
        BOOST_CHECK_NE(decode(5, odd, 0, read), "");
    }
    BOOST_CHECK(read == untouched);

    BOOST_CHECK_NE(said({.kind = Kind::done}, 1), "");
    BOOST_CHECK_NE(said({.kind = Kind::read, .length = 4}, 4), "");
    BOOST_CHECK_NE(said({.kind = Kind::refused, .offset = 1}, 0), "");
    BOOST_CHECK_NE(said({.kind = Kind::message, .length = 10, .offset = 4}, 7), "");
    BOOST_CHECK_NE(said({.kind = Kind::message, .length = 10, .offset = 11}, 0), "");
    BOOST_CHECK_NE(said({.kind = Kind::message, .length = 10, .offset = 0xffffffff}, 12),
                   "");
    BOOST_CHECK_NE(said({.kind = Kind::write, .length = 10}, 10), ""); // is the last
    BOOST_CHECK_NE(said({.kind = Kind::write, .last = true, .length = 10}, 9), "");
    BOOST_CHECK_NE(said({.kind = Kind::reply, .length = 10}, 0), "");
    BOOST_CHECK_NE(said({.kind = Kind::write, .notice = true, .length = 10}, 9), "");
    BOOST_CHECK_NE(said({.kind = Kind::reply, .last = true, .notice = true}, 0), "");
    BOOST_CHECK_NE(
            said({.kind = Kind::write, .last = true, .notice = true, .counted = true}, 0),
            "");
}

BOOST_AUTO_TEST_CASE(any_bytes_are_a_frame_that_fits_or_none)
{
    std::mt19937_64 random(1);
    unsigned good = 0;
    for (unsigned round = 0; round < 200000; ++round) {
        TcpHeader header{};
        for (std::size_t i = 0; i < header.size(); ++i) {
            // Small numbers often enough for some to be good.
            header[i] = i % 4 == 0 || random() % 8 == 0 ?
                                static_cast<std::uint8_t>(random() & 0x0f) :
                                0;
        }
        const auto kind           = static_cast<std::uint8_t>(random() % 8);
        const std::size_t payload = random() % 16;
        TcpFrame frame;
        if (!decode(kind, header, payload, frame).empty()) {
            BOOST_REQUIRE(frame == TcpFrame());
            continue;
        }
        ++good;
        BOOST_REQUIRE(payload == 0 || frame.length - frame.offset >= payload);
        BOOST_REQUIRE(encode(frame) == header);
    }
    BOOST_CHECK_GT(good, 1000);
}

BOOST_AUTO_TEST_CASE(a_key_opens_its_range_and_nothing_else)
{
    std::array<std::byte, 64> memory{};
    std::array<std::byte, 64> data;
    data.fill(std::byte{7});
    const std::uint64_t base = address_of(memory.data()) + 8;
    RemoteKeys keys;
    keys.add(1, memory.data() + 8, 16, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    keys.add(2, memory.data() + 8, 16, IBV_ACCESS_REMOTE_READ);
    keys.add(3, memory.data() + 8, 16, IBV_ACCESS_REMOTE_WRITE);
    keys.add(4, memory.data() + 8, 16, IBV_ACCESS_LOCAL_WRITE);
    const auto write = [&](std::uint32_t key, std::uint64_t at, std::size_t length) {
        return keys.write(key, at, length, 0, std::span(data).first(length));
    };
    const auto read = [&](std::uint32_t key, std::uint64_t at, std::size_t length) {
        const Refusal checked = keys.readable(key, at, length);
        bool used             = false;
        BOOST_CHECK(keys.read(key, at, length, [&](std::span<const std::byte> bytes) {
            used = true;
            BOOST_CHECK(address_of(bytes.data()) == at);
            BOOST_CHECK(bytes.size() == length);
        }) == checked);
        BOOST_CHECK(used == (checked == Refusal::none));
        return checked;
    };
    for (std::uint32_t key : {0u, 4u, 5u, ~0u}) {
        BOOST_CHECK(write(key, base, 1) == Refusal::key);
        BOOST_CHECK(read(key, base, 1) == Refusal::key);
    }
    for (const auto &[at, length] : {std::pair{base - 1, 1},
                                     {base - 1, 17},
                                     {base + 16, 1},
                                     {base, 17},
                                     {base + 15, 2},
                                     {std::uint64_t{0}, 1},
                                     {~std::uint64_t{0}, 1},
                                     {~std::uint64_t{0}, 64}}) {
        BOOST_CHECK(write(1, at, static_cast<std::size_t>(length)) == Refusal::range);
        BOOST_CHECK(read(1, at, static_cast<std::size_t>(length)) == Refusal::range);
    }
    BOOST_CHECK(write(2, base, 1) == Refusal::rights);
    BOOST_CHECK(read(3, base, 1) == Refusal::rights);
    BOOST_CHECK(memory == (std::array<std::byte, 64>{}));

    BOOST_CHECK(write(9, 0, 0) == Refusal::none);
    BOOST_CHECK(read(9, 0, 0) == Refusal::none);
    BOOST_CHECK(read(2, base, 16) == Refusal::none);
    BOOST_CHECK(write(1, base, 16) == Refusal::none);
    BOOST_CHECK(write(3, base + 15, 1) == Refusal::none);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        BOOST_CHECK(memory[i] == std::byte(i >= 8 && i < 24 ? 7 : 0));
    }

    keys.remove(1);
    keys.remove(77);
    BOOST_CHECK(write(1, base, 1) == Refusal::key);
    keys.add(1, memory.data() + 32, 1, IBV_ACCESS_REMOTE_READ); // a key may come again
    BOOST_CHECK(write(1, base, 1) == Refusal::range);
}

// Memory goes back to its owner when remove() has returned, whoever is writing.
BOOST_AUTO_TEST_CASE(what_has_been_removed_is_not_written)
{
    RemoteKeys keys;
    std::vector<std::byte> memory(1u << 16);
    std::vector<std::byte> data(memory.size(), std::byte{1});
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        while (!stop.load()) {
            (void)keys.write(1, address_of(memory.data()), data.size(), 0, data);
        }
    });
    bool touched = false;
    for (unsigned round = 0; round < 500; ++round) {
        keys.add(1, memory.data(), memory.size(), IBV_ACCESS_REMOTE_WRITE);
        while (__atomic_load_n(reinterpret_cast<std::uint8_t *>(&memory.back()),
                               __ATOMIC_ACQUIRE) == 0) {
            std::this_thread::yield();
        }
        keys.remove(1);
        std::memset(memory.data(), 0, memory.size());
        touched = touched ||
                  std::any_of(memory.begin(), memory.end(),
                              [](std::byte byte) { return byte != std::byte{}; });
    }
    stop = true;
    writer.join();
    BOOST_CHECK(!touched);
}
