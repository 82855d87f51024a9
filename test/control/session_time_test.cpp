// SPDX-License-Identifier: BSD-3-Clause
//
// Time-outs and keepalive of a session, by a clock set by hand.

#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;

namespace {

struct Timed : SessionPair {
    Timed()
    {
        server.fabric.settings.peer_timeout = 30s;
        client.fabric.settings.peer_timeout = 30s;
    }

    // Lets time pass in steps, with a tick after each.
    void pass(End &end, std::chrono::milliseconds time, std::chrono::milliseconds step)
    {
        for (auto until = now + time; now < until;) {
            now += step;
            end.session->tick(now);
        }
        end.collect();
    }
};

std::size_t pings(const std::vector<Message> &messages)
{
    std::size_t count = 0;
    for (const auto &message : messages) {
        count += std::holds_alternative<Ping>(message);
    }
    return count;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(session_time, Timed)

BOOST_AUTO_TEST_CASE(handshake_times_out)
{
    for (auto state : {State::hello_wait, State::connect_wait}) {
        advance_to(state);
        BOOST_CHECK(server.session->deadline() == now + 2s);
        server.session->tick(now + 2s - 1ms);
        BOOST_TEST(!server.session->finished());
        server.session->tick(now + 2s);
        BOOST_CHECK(server.closed_for() == Reason::timeout);
        server.events.clear();
        client.events.clear();
    }
    for (auto state : {State::challenge_wait, State::welcome_wait}) {
        advance_to(state);
        client.session->tick(now + 2s);
        BOOST_CHECK(client.closed_for() == Reason::timeout);
        client.events.clear();
    }
}

// Bytes that lead nowhere do not buy time.
BOOST_AUTO_TEST_CASE(slow_bytes_do_not_extend_the_handshake)
{
    advance_to(State::hello_wait);
    auto hello = encoded(Hello{});
    for (int i = 0; i < 20; ++i) {
        now += 100ms;
        server.session->receive({&hello[i], 1}, now);
        server.session->tick(now);
    }
    BOOST_CHECK(server.closed_for() == Reason::timeout);
}

// A fabric may take its time to decide; only the peer's silence counts.
BOOST_AUTO_TEST_CASE(decisions_are_not_hurried)
{
    advance_to(State::deciding);
    for (int i = 0; i < 20; ++i) {
        pass(server, 10s, 1s);
        exchange();
        BOOST_REQUIRE(!server.session->finished());
        BOOST_REQUIRE(!client.session->finished());
    }
    BOOST_TEST(server.session->accept(sample_info(server.fabric.identity.fabric_id)));
}

BOOST_AUTO_TEST_CASE(silence_is_asked_about_and_then_ends_it)
{
    advance_to(State::established);
    auto start = now;

    pass(client, 9999ms, 1ms);
    BOOST_TEST(pings(client.output()) == 0u);
    pass(client, 1ms, 1ms);
    BOOST_TEST(pings(client.output()) == 1u);
    pass(client, 19999ms, 1ms);
    BOOST_TEST(pings(client.output()) == 1u);
    BOOST_TEST(!client.session->finished());
    BOOST_CHECK(client.session->deadline() == start + 30s);
    pass(client, 1ms, 1ms);
    BOOST_TEST(client.last(Kind::closed).detail == "silent for 30000 ms");
    BOOST_CHECK(client.closed_for() == Reason::timeout);
}

BOOST_AUTO_TEST_CASE(answers_keep_it_alive)
{
    advance_to(State::established);
    for (int i = 0; i < 100; ++i) {
        pass(client, 9s, 100ms);
        exchange();
    }
    BOOST_TEST(!client.session->finished());
    BOOST_TEST(!server.session->finished());
}

// The end with the shorter time-out asks; the other need not have the same.
BOOST_AUTO_TEST_CASE(time_outs_may_differ)
{
    client.fabric.settings.peer_timeout = 300ms;
    advance_to(State::established);
    for (int i = 0; i < 100; ++i) {
        pass(client, 100ms, 10ms);
        exchange();
    }
    BOOST_TEST(!client.session->finished());
    pass(client, 300ms, 10ms);
    BOOST_CHECK(client.closed_for() == Reason::timeout);
}

// This process was stopped: the peer has had no chance to show itself.
BOOST_AUTO_TEST_CASE(own_standstill_is_not_the_peers_silence)
{
    advance_to(State::established);
    now += 10min;
    client.session->tick(now);
    BOOST_TEST(!client.session->finished());
    BOOST_TEST(pings(client.output()) == 1u);

    // From here on its time runs as ever.
    pass(client, 30s, 100ms);
    BOOST_CHECK(client.closed_for() == Reason::timeout);
}

BOOST_AUTO_TEST_CASE(own_standstill_in_the_handshake)
{
    advance_to(State::hello_wait);
    now += 10min;
    server.session->tick(now);
    BOOST_TEST(!server.session->finished());
    exchange();
    BOOST_TEST(server.has(Kind::connect));
}

BOOST_AUTO_TEST_CASE(pongs_must_answer_pings)
{
    advance_to(State::established);
    pass(client, 10s, 1s);
    auto asked_for = client.output();
    BOOST_REQUIRE_EQUAL(pings(asked_for), 1u);
    deliver(client, Pong{std::get<Ping>(asked_for[0]).value});
    BOOST_TEST(!client.session->finished());
    deliver(client, Pong{std::get<Ping>(asked_for[0]).value});
    BOOST_CHECK(client.closed_for() == Reason::unexpected);

    client.events.clear();
    server.events.clear();
    advance_to(State::established);
    pass(client, 10s, 1s);
    deliver(client, Pong{12345});
    BOOST_CHECK(client.closed_for() == Reason::unexpected);
}

BOOST_AUTO_TEST_SUITE_END()
