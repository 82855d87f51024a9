// SPDX-License-Identifier: BSD-3-Clause
//
// What bounds the use that others make of a port and of a connection.

#include "control/failure_limiter.hpp"
#include "control/logger.hpp"
#include "node_fixture.hpp"
#include "raw_socket.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind = Happening::Kind;

namespace {

FailureLimiter::Ip ip(const char *text)
{
    return Address::parse(text)->ip;
}

FailureLimiter::Ip numbered(unsigned number)
{
    auto result = ip("10.0.0.0");
    result[13]  = static_cast<std::uint8_t>(number >> 16);
    result[14]  = static_cast<std::uint8_t>(number >> 8);
    result[15]  = static_cast<std::uint8_t>(number);
    return result;
}

struct Limiter {
    FailureLimiter limiter{3, 100ms};
    FailureLimiter::Time now{1h};

    void fail(const FailureLimiter::Ip &source, int times)
    {
        for (int i = 0; i < times; ++i) {
            limiter.failed(source, now);
        }
    }
};

// A port with limits, and a logger that keeps the lines.
struct Limited {
    std::shared_ptr<Node> node = Node::acquire();
    Address port;
    std::mutex mutex;
    std::vector<std::string> log; // guarded by mutex

    explicit Limited(const ListenOptions &options) :
        port(node->listen("127.0.0.1", options))
    {
        set_logger([this](Level, const std::string &text) {
            std::lock_guard lock(mutex);
            log.push_back(text);
        });
    }

    ~Limited()
    {
        set_logger({});
    }

    std::size_t lines_with(const std::string &part)
    {
        std::lock_guard lock(mutex);
        return static_cast<std::size_t>(
                std::count_if(log.begin(), log.end(), [&](const std::string &line) {
                    return line.find(part) != line.npos;
                }));
    }

    // Connects, and fails to prove that it knows the token. False when it was not
    // listened to.
    bool guess(const Identity &target)
    {
        RawSocket socket(port);
        auto challenge = socket.receive();
        if (!challenge) {
            return false;
        }
        socket.send(Hello{{protocol_major, protocol_minor, 0, random_nonce()},
                          77,
                          target.fabric_id,
                          {}});
        BOOST_CHECK(socket.receive_as<Refuse>().reason == Reason::authentication);
        socket.read_to_end();
        return true;
    }
};

struct Guarded : Limited {
    Guarded() : Limited({.failure_burst = 3, .failure_refill = 200ms})
    {
    }
};

// So long that no failure is forgiven while a test runs.
struct Unforgiving : Limited {
    Unforgiving() : Limited({.failure_burst = 3, .failure_refill = 1h})
    {
    }
};

struct Small : Limited {
    Small() : Limited({.max_connections = 2})
    {
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(limits)

BOOST_FIXTURE_TEST_CASE(failures_empty_the_bucket_and_time_fills_it, Limiter)
{
    auto source = ip("192.0.2.1");
    BOOST_TEST(limiter.admits(source, now));
    fail(source, 2);
    BOOST_TEST(limiter.admits(source, now));
    fail(source, 1);
    BOOST_TEST(!limiter.admits(source, now));
    BOOST_TEST(limiter.admits(ip("192.0.2.2"), now)); // others are not concerned
    BOOST_TEST(!limiter.admits(source, now + 99ms));
    BOOST_TEST(limiter.admits(source, now + 100ms));

    // The token it has got back is for one failure.
    now += 100ms;
    fail(source, 1);
    BOOST_TEST(!limiter.admits(source, now + 99ms));
    BOOST_TEST(limiter.admits(source, now + 100ms));

    // After a long time it holds all of them, and no more.
    now += 1h;
    fail(source, 2);
    BOOST_TEST(limiter.admits(source, now));
    fail(source, 1);
    BOOST_TEST(!limiter.admits(source, now));
}

BOOST_FIXTURE_TEST_CASE(success_is_forgiveness, Limiter)
{
    auto source = ip("192.0.2.1");
    fail(source, 50);
    BOOST_TEST(!limiter.admits(source, now));
    limiter.succeeded(source);
    BOOST_TEST(limiter.admits(source, now));
    BOOST_TEST(limiter.size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(an_ipv6_network_is_one_source, Limiter)
{
    fail(ip("2001:db8:0:1::1"), 2);
    fail(ip("2001:db8:0:1:ffff::2"), 1);
    BOOST_TEST(!limiter.admits(ip("2001:db8:0:1::3"), now));
    BOOST_TEST(limiter.admits(ip("2001:db8:0:2::1"), now));
    fail(ip("192.0.2.1"), 3);
    BOOST_TEST(limiter.admits(ip("192.0.2.2"), now));
}

BOOST_FIXTURE_TEST_CASE(table_of_sources_is_bounded, Limiter)
{
    constexpr auto full = FailureLimiter::max_addresses;
    fail(numbered(0), 3);
    for (unsigned i = 1; i < 3 * full; ++i) {
        fail(numbered(i), 1);
        BOOST_TEST(limiter.size() <= full);
    }
    BOOST_TEST(limiter.size() == full);
    BOOST_TEST(!limiter.admits(numbered(0), now)); // the worst is not forgotten

    // Whose bucket is full again goes first.
    now += 1h;
    fail(numbered(9999999), 1);
    BOOST_TEST(limiter.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_guesser_is_not_listened_to_any_more, Unforgiving)
{
    Recorder b(node, port);
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(guess(b.identity()));
    }
    for (int i = 0; i < 30; ++i) {
        BOOST_TEST(!guess(b.identity()));
    }
    BOOST_TEST(node->counters().throttled == 30u);
    BOOST_TEST(
            node->counters().rejected[static_cast<std::size_t>(Reason::authentication)] ==
            3u);
    auto lines = lines_with("failed to authenticate too often");
    BOOST_TEST(lines >= 1u);
    BOOST_TEST(lines <= LogLimiter::burst);
}

// Its connections that exist are not touched, and it gets in as soon as the failures of
// others at its address are forgiven.
BOOST_FIXTURE_TEST_CASE(an_honest_client_beside_a_guesser, Guarded)
{
    Recorder a(node, port), b(node, port);
    a.connect(port, b.identity());
    expect_established(a, b);
    while (guess(b.identity())) {
    }

    a.connect(port, b.identity());
    expect_established(a, b); // tried again until then
    BOOST_TEST(node->counters().throttled >= 1u);

    // The slate is clean: three failures are free again.
    auto before = node->counters().throttled;
    BOOST_TEST(guess(b.identity()));
    BOOST_TEST(guess(b.identity()));
    BOOST_TEST(guess(b.identity()));
    BOOST_TEST(node->counters().throttled == before);
    BOOST_TEST(a.is_quiet());
}

// Only a wrong proof is a failure: a restarted peer, an attacker who talks nonsense or
// a probe is none.
BOOST_FIXTURE_TEST_CASE(other_ends_are_no_failures, Unforgiving)
{
    Recorder a(node, port), b(node, port);
    for (int i = 0; i < 10; ++i) {
        a.connect(port, random_identity());
        BOOST_CHECK(a.next(Kind::closed).reason == Reason::unknown_fabric);
        node->probe(a.identity().fabric_id, port, 1);
        BOOST_CHECK(a.next(Kind::probed).probe == ProbeResult::gone);
        RawSocket socket(port);
        socket.receive_as<Challenge>();
        socket.send(Goodbye{});
        BOOST_CHECK(socket.receive_as<Refuse>().reason == Reason::unexpected);
    }
    BOOST_TEST(guess(b.identity()));
    BOOST_TEST(node->counters().throttled == 0u);
}

BOOST_FIXTURE_TEST_CASE(connections_of_a_listener_are_limited, Small)
{
    Recorder a(node, port), b(node, port);
    auto first = a.connect(port, b.identity());
    expect_established(a, b);
    a.connect(port, b.identity());
    expect_established(a, b);

    a.connect(port, b.identity());
    auto end = a.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::resources);
    BOOST_TEST(end.detail.find("as many connections") != end.detail.npos);
    BOOST_TEST(node->counters().over_limit == 1u);
    BOOST_TEST(node->counters().rejected[static_cast<std::size_t>(Reason::resources)] ==
               1u);
    BOOST_TEST(lines_with("as many connections") == 1u);
    BOOST_TEST(b.is_quiet()); // it has not heard of it

    // Questions need no place.
    node->probe(a.identity().fabric_id, port, b.identity().fabric_id);
    BOOST_CHECK(a.next(Kind::probed).probe == ProbeResult::alive);

    // One that has gone makes room.
    node->close(first);
    a.next(Kind::closed);
    b.next(Kind::closed);
    auto start = std::chrono::steady_clock::now();
    while (node->counters().connections > 2) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() - start < patience);
        std::this_thread::yield();
    }
    a.connect(port, b.identity());
    expect_established(a, b);
}

// Asks and asks, and never reads the answers: ended when max_queued is reached.
BOOST_FIXTURE_TEST_CASE(slow_readers_are_counted, NodeFixture)
{
    Settings tight;
    tight.max_queued = 4096;
    Recorder b(node, port, tight);
    RawSocket socket(port, 4096);
    socket.authenticate(b.identity(), 77);
    socket.send(Connect{sample_info(77)});
    b.next(Kind::connect);

    std::vector<std::uint8_t> flood;
    while (flood.size() < 60000) {
        encode(Ping{}, flood);
    }
    auto start = std::chrono::steady_clock::now();
    while (socket.send(flood)) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() - start < patience);
    }
    auto end = b.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::resources);
    BOOST_TEST(end.detail.find("limit 4096") != end.detail.npos);
    BOOST_TEST(node->counters().slow_readers == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
