// SPDX-License-Identifier: BSD-3-Clause
//
// Clients that attack a control port, while fabrics use it.

#include "control/logger.hpp"
#include "raw_socket.hpp"
#include "recorder.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <list>
#include <random>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind  = Happening::Kind;
using Clock = std::chrono::steady_clock;

namespace {

// A port under attack, and two fabrics that are connected through it.
struct Attacked {
    std::shared_ptr<Node> node = Node::acquire();
    Address port;
    std::unique_ptr<Recorder> a, b;
    ConnectionId id = 0;
    std::mutex mutex;
    std::vector<std::string> log; // guarded by mutex

    explicit Attacked(const ListenOptions &options = {}) :
        port(node->listen("127.0.0.1", options))
    {
        set_logger([this](Level, const std::string &text) {
            std::lock_guard lock(mutex);
            log.push_back(text);
        });
        a  = std::make_unique<Recorder>(node, port);
        b  = std::make_unique<Recorder>(node, port);
        id = a->connect(port, b->identity());
        b->next(Kind::connect);
        a->next(Kind::accept);
        b->next(Kind::ready);
    }

    // Every test ends with the proof that the connection has not suffered.
    ~Attacked()
    {
        BOOST_TEST(a->is_quiet());
        BOOST_TEST(b->is_quiet());
        node->close(id);
        BOOST_CHECK(b->next(Kind::closed).reason == Reason::goodbye);
        set_logger({});
    }

    std::uint64_t rejected(Reason reason)
    {
        return node->counters().rejected[static_cast<std::size_t>(reason)];
    }

    // The other side must say why and then close.
    void expect_refusal(RawSocket &socket, Reason reason)
    {
        auto refuse = socket.receive_as<Refuse>();
        BOOST_CHECK_MESSAGE(refuse.reason == reason, to_string(refuse.reason)
                                                             << ": " << refuse.text);
        BOOST_TEST(!socket.receive().has_value());
    }

    bool logged(const std::string &part)
    {
        std::lock_guard lock(mutex);
        return std::any_of(log.begin(), log.end(), [&](const std::string &line) {
            return line.find(part) != line.npos;
        });
    }
};

struct Impatient : Attacked {
    Impatient() : Attacked({.handshake_timeout = 400ms})
    {
    }
};

struct Narrow : Attacked {
    Narrow() : Attacked({.max_half_open = 4})
    {
    }
};

std::vector<std::uint8_t> frame_header(std::uint32_t length)
{
    return {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(length >> 8),
            static_cast<std::uint8_t>(length >> 16),
            static_cast<std::uint8_t>(length >> 24)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_FIXTURE_TEST_CASE(random_bytes, Attacked)
{
    std::mt19937 random(99);

    for (int round = 0; round < 100; ++round) {
        RawSocket socket(port);
        std::vector<std::uint8_t> bytes(2000);
        for (auto &byte : bytes) {
            byte = static_cast<std::uint8_t>(random());
        }
        // Every other round gets past the length.
        if (round % 2 == 0) {
            auto header = frame_header(64);
            std::copy(header.begin(), header.end(), bytes.begin());
        }
        socket.send(bytes);
        socket.receive_as<Challenge>();
        expect_refusal(socket, (round % 2 == 0) ? Reason::malformed : Reason::oversized);
    }
    BOOST_TEST(rejected(Reason::malformed) == 50u);
    BOOST_TEST(rejected(Reason::oversized) == 50u);
    BOOST_TEST(logged("is not a control message"));
    std::lock_guard lock(mutex);
    BOOST_TEST(log.size() <= LogLimiter::burst + 2);
}

BOOST_FIXTURE_TEST_CASE(truncated_message, Attacked)
{
    auto hello = encoded(Hello{});

    for (std::size_t size = 1; size < hello.size(); size += 7) {
        RawSocket socket(port);
        socket.send({hello.data(), size});
        socket.close();
    }
    // The last in line shows that all before it have been dealt with.
    RawSocket last(port);
    last.receive_as<Challenge>();
    last.send(Goodbye{});
    expect_refusal(last, Reason::unexpected);
    BOOST_TEST(node->counters().authenticated == 2u);
}

BOOST_FIXTURE_TEST_CASE(oversized_before_and_after_authentication, Attacked)
{
    RawSocket before(port);
    before.receive_as<Challenge>();
    before.send(frame_header(max_frame_before_auth + 1));
    expect_refusal(before, Reason::oversized);

    RawSocket after(port);
    after.authenticate(b->identity(), 77);
    after.send(frame_header(max_frame + 1));
    expect_refusal(after, Reason::oversized);
    BOOST_TEST(rejected(Reason::oversized) == 2u);
}

BOOST_FIXTURE_TEST_CASE(nothing_works_without_the_proof, Attacked)
{
    for (const auto &message : sample_messages()) {
        RawSocket socket(port);
        socket.receive_as<Challenge>();
        socket.send(message);
        if (std::holds_alternative<Refuse>(message)) {
            BOOST_TEST(!socket.receive().has_value());
        } else {
            auto refuse = socket.receive_as<Refuse>();
            BOOST_TEST(!socket.receive().has_value());
            bool asks_for_a_fabric = std::holds_alternative<Hello>(message) ||
                                     std::holds_alternative<Probe>(message);
            BOOST_CHECK(refuse.reason == (asks_for_a_fabric ? Reason::unknown_fabric :
                                                              Reason::unexpected));
        }
    }
    BOOST_TEST(node->counters().authenticated == 2u);
}

BOOST_FIXTURE_TEST_CASE(wrong_token_and_wrong_version, Attacked)
{
    RawSocket guesser(port);
    auto guess = b->identity();
    guess.token[7] ^= 0x80;
    auto challenge = guesser.receive_as<Challenge>();
    Offer own{protocol_major, protocol_minor, 0, random_nonce()};
    Transcript transcript{challenge.offer, own, 5, guess.fabric_id, 0};
    guesser.send(Hello{own, 5, guess.fabric_id,
                       prove(guess.token, transcript, Prover::client)});
    expect_refusal(guesser, Reason::authentication);

    RawSocket newer(port);
    newer.receive_as<Challenge>();
    own.major = protocol_major + 1;
    newer.send(Hello{own, 5, b->identity().fabric_id, {}});
    expect_refusal(newer, Reason::version);

    BOOST_TEST(rejected(Reason::authentication) == 1u);
    BOOST_TEST(rejected(Reason::version) == 1u);
}

// An authenticated peer that breaks the rules loses its own connection.
BOOST_FIXTURE_TEST_CASE(misbehaviour_of_an_authenticated_peer, Attacked)
{
    RawSocket socket(port);
    socket.authenticate(b->identity(), 77);
    socket.send(Connect{sample_info(77)});
    auto announced = b->next(Kind::connect);
    BOOST_TEST(announced.peer.fabric_id == 77u);
    std::get<Accept>(socket.receive().value());
    socket.send(Accept{sample_info(77)});
    expect_refusal(socket, Reason::unexpected);

    auto end = b->next(Kind::closed);
    BOOST_TEST(end.id == announced.id);
    BOOST_CHECK(end.reason == Reason::unexpected);
}

// Asks and asks, and never reads the answers.
BOOST_FIXTURE_TEST_CASE(flood_of_pings, Attacked)
{
    RawSocket socket(port);
    socket.authenticate(b->identity(), 77);
    socket.send(Connect{sample_info(77)});
    auto announced = b->next(Kind::connect);

    std::vector<std::uint8_t> flood;
    while (flood.size() < 60000) {
        encode(Ping{}, flood);
    }
    auto start = Clock::now();
    while (socket.send(flood)) {
        BOOST_REQUIRE(Clock::now() - start < patience);
    }
    auto end = b->next(Kind::closed);
    BOOST_TEST(end.id == announced.id);
    BOOST_CHECK((end.reason == Reason::resources));
}

// A peer that has stopped reading cannot hold up the end of a fabric.
BOOST_FIXTURE_TEST_CASE(detach_with_a_clogged_peer, Attacked)
{
    Settings generous;
    generous.max_queued = 64 << 20;
    Recorder fabric(node, port, generous);
    RawSocket socket(port, 4096);
    socket.authenticate(fabric.identity(), 77);
    socket.send(Connect{sample_info(77)});
    fabric.next(Kind::connect);

    std::vector<std::uint8_t> flood;
    auto expected = node->counters().messages_in;
    for (; flood.size() < 3000000; ++expected) {
        encode(Ping{}, flood);
    }
    BOOST_TEST(socket.send(flood));

    // Somebody else's round trips, until the control thread has answered all of it.
    auto start = Clock::now();
    while (node->counters().messages_in < expected) {
        RawSocket(port).receive_as<Challenge>();
        BOOST_REQUIRE(Clock::now() - start < patience);
    }

    start = Clock::now();
    fabric.detach();
    auto time = Clock::now() - start;
    BOOST_CHECK(time >= 150ms); // it has tried
    BOOST_CHECK(time < patience / 2);
}

BOOST_FIXTURE_TEST_CASE(two_hundred_half_open, Impatient)
{
    constexpr unsigned count = 200;
    std::list<RawSocket> idlers;
    for (unsigned i = 0; i < count; ++i) {
        idlers.emplace_back(port);
    }

    Recorder late(node, port);
    late.connect(port, b->identity());
    late.next(Kind::accept);
    b->next(Kind::connect);
    b->next(Kind::ready);

    for (auto &idler : idlers) {
        idler.receive_as<Challenge>();
        expect_refusal(idler, Reason::timeout);
    }
    BOOST_TEST(rejected(Reason::timeout) == count);
    late.detach();
    BOOST_CHECK(b->next(Kind::closed).reason == Reason::goodbye);
}

// One byte now and then does not keep the door open.
BOOST_FIXTURE_TEST_CASE(slow_loris, Impatient)
{
    auto hello = encoded(Hello{});
    RawSocket socket(port);
    socket.receive_as<Challenge>();

    auto start = Clock::now();
    for (std::size_t i = 0; !socket.readable_within(20ms); ++i) {
        BOOST_REQUIRE(i < hello.size());
        BOOST_REQUIRE(Clock::now() - start < patience);
        socket.send({&hello[i], 1});
    }
    expect_refusal(socket, Reason::timeout);
    BOOST_CHECK(Clock::now() - start >= 300ms);
}

BOOST_FIXTURE_TEST_CASE(half_open_connections_are_limited, Narrow)
{
    std::list<RawSocket> idlers;
    for (unsigned i = 0; i < 4; ++i) {
        idlers.emplace_back(port);
        idlers.back().receive_as<Challenge>();
    }
    BOOST_TEST(node->counters().half_open == 4u);

    // The door is full: this one waits in the kernel's queue, and nobody spins
    // meanwhile.
    RawSocket fifth(port);
    auto cpu_before = std::clock();
    BOOST_TEST(!fifth.readable_within(400ms));
    BOOST_TEST(std::clock() - cpu_before < CLOCKS_PER_SEC / 10);

    idlers.pop_front();
    fifth.receive_as<Challenge>();
    BOOST_TEST(node->counters().half_open == 4u);

    // Who has authenticated itself and connected makes room for the next.
    RawSocket sixth(port);
    idlers.clear();
    sixth.authenticate(b->identity(), 5);
    sixth.send(Connect{sample_info(5)});
    b->next(Kind::connect);
    sixth.receive_as<Accept>();
    sixth.send(Goodbye{});
    BOOST_CHECK(b->next(Kind::closed).reason == Reason::goodbye);
}

BOOST_FIXTURE_TEST_CASE(out_of_descriptors, Attacked)
{
    RawSocket first(port);
    first.receive_as<Challenge>();

    // Leaves exactly one descriptor, for the client's own socket.
    rlimit before{};
    BOOST_REQUIRE_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest = dup(0);
    BOOST_REQUIRE(lowest >= 0);
    ::close(lowest);
    rlimit tight{static_cast<rlim_t>(lowest) + 1, before.rlim_max};
    BOOST_REQUIRE_EQUAL(setrlimit(RLIMIT_NOFILE, &tight), 0);
    auto start = Clock::now();
    RawSocket second(port);
    bool answered = second.readable_within(450ms);
    auto errors   = node->counters().accept_errors;
    auto elapsed  = Clock::now() - start;
    BOOST_REQUIRE_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);

    BOOST_TEST(!answered);
    BOOST_TEST(errors >= 1u);
    // One try each 100 ms, not a spin.
    BOOST_TEST(static_cast<std::int64_t>(errors) <= elapsed / 100ms + 2);
    BOOST_TEST(logged("Too many open files"));

    second.receive_as<Challenge>();
    first.send(Ping{});
    expect_refusal(first, Reason::unexpected);
}

BOOST_AUTO_TEST_SUITE_END()
