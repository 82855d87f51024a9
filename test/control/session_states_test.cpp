// SPDX-License-Identifier: BSD-3-Clause
//
// Every message in every state of a session.

#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace be::control;
using namespace be::control::test;

namespace {

const std::vector<State> client_states = {State::challenge_wait, State::welcome_wait,
                                          State::accept_wait, State::confirming,
                                          State::established};
const std::vector<State> server_states = {State::hello_wait, State::connect_wait,
                                          State::deciding, State::ready_wait,
                                          State::established};

bool authenticated(State state)
{
    return (state != State::challenge_wait) && (state != State::welcome_wait) &&
           (state != State::hello_wait);
}

// The table of the protocol, written down once more.
bool legal(const Message &message, State state)
{
    if (std::holds_alternative<Refuse>(message)) {
        return true;
    }
    if (std::holds_alternative<Ping>(message) ||
        std::holds_alternative<Goodbye>(message)) {
        return authenticated(state);
    }
    switch (state) {
    case State::challenge_wait:
        return std::holds_alternative<Challenge>(message);
    case State::hello_wait:
        return std::holds_alternative<Hello>(message) ||
               std::holds_alternative<Probe>(message);
    case State::welcome_wait:
        return std::holds_alternative<Welcome>(message);
    case State::connect_wait:
        return std::holds_alternative<Connect>(message);
    case State::accept_wait:
        return std::holds_alternative<Accept>(message);
    case State::ready_wait:
        return std::holds_alternative<Ready>(message);
    case State::established:
        return std::holds_alternative<Recover>(message) ||
               std::holds_alternative<Recovered>(message) ||
               std::holds_alternative<Data>(message);
    default:
        return false;
    }
}

void check_state(bool is_server, State state)
{
    for (const auto &message : sample_messages()) {
        SessionPair pair;
        pair.advance_to(state);
        auto &end = is_server ? pair.server : pair.client;
        BOOST_REQUIRE(end.session->state() == state);

        auto situation = end.session->situation();
        pair.deliver(end, message);
        bool unexpected = end.session->finished() &&
                          (end.last(Kind::closed).reason == Reason::unexpected);
        BOOST_TEST(unexpected == !legal(message, state),
                   name_of(message) << (is_server ? " to server " : " to client ")
                                    << to_string(state));
        if (unexpected) {
            // The peer is told, and the text names message and state.
            auto output = end.output();
            BOOST_REQUIRE(!output.empty());
            auto *refuse = std::get_if<Refuse>(&output.back());
            BOOST_REQUIRE(refuse != nullptr);
            BOOST_CHECK(refuse->reason == Reason::unexpected);
            BOOST_TEST(refuse->text ==
                       std::string(name_of(message)) + " in state " + situation);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(session_states)

BOOST_AUTO_TEST_CASE(server)
{
    for (auto state : server_states) {
        check_state(true, state);
    }
}

BOOST_AUTO_TEST_CASE(client)
{
    for (auto state : client_states) {
        check_state(false, state);
    }
}

BOOST_AUTO_TEST_CASE(local_decisions)
{
    auto try_all = [](bool is_server, State state) {
        std::set<std::string> possible;
        for (std::string what :
             {"accept", "ready", "recover", "recovered", "refuse", "close"}) {
            SessionPair pair;
            pair.advance_to(state);
            auto &session = is_server ? *pair.server.session : *pair.client.session;
            bool done     = (what == "accept")    ? session.accept(sample_info(1)) :
                            (what == "ready")     ? session.ready() :
                            (what == "recover")   ? session.recover(sample_recovery(1)) :
                            (what == "recovered") ? session.recovered(1) :
                            (what == "refuse")    ? session.refuse(Reason::refused, "") :
                                                    session.close(true, "");
            if (done) {
                possible.insert(what);
            }
        }
        return possible;
    };
    using Names = std::set<std::string>;
    Names traffic{"recover", "recovered", "refuse", "close"};

    for (auto state : server_states) {
        auto expected = (state == State::deciding) ? Names{"accept", "refuse", "close"} :
                        (state == State::established) ? traffic :
                                                        Names{"refuse", "close"};
        BOOST_CHECK(try_all(true, state) == expected);
    }
    for (auto state : client_states) {
        auto expected = (state == State::confirming) ? Names{"ready", "refuse", "close"} :
                        (state == State::established) ? traffic :
                                                        Names{"refuse", "close"};
        BOOST_CHECK(try_all(false, state) == expected);
    }
}

BOOST_AUTO_TEST_CASE(frame_size_is_limited_by_state)
{
    auto oversized = [](State state, std::size_t size, std::uint64_t features) {
        SessionPair pair;
        pair.client.fabric.settings.features = features;
        pair.advance_to(state);
        std::vector<std::uint8_t> bytes;
        for (std::size_t i = 0; i < frame_header_size; ++i) {
            bytes.push_back(static_cast<std::uint8_t>(size >> (8 * i)));
        }
        pair.server.session->receive(bytes, pair.now);
        pair.server.collect();
        return pair.server.session->finished() &&
               (pair.server.closed_for() == Reason::oversized);
    };

    BOOST_TEST(!oversized(State::hello_wait, max_frame_before_auth, all_features));
    BOOST_TEST(oversized(State::hello_wait, max_frame_before_auth + 1, all_features));
    for (auto state : {State::connect_wait, State::deciding, State::established}) {
        BOOST_TEST(!oversized(state, max_frame_with_data, all_features));
        BOOST_TEST(oversized(state, max_frame_with_data + 1, all_features));
        BOOST_TEST(!oversized(state, max_frame, ~feature_tcp_path));
        BOOST_TEST(oversized(state, max_frame + 1, ~feature_tcp_path));
    }
}

BOOST_AUTO_TEST_CASE(garbage_in_every_state)
{
    std::vector<std::uint8_t> garbage(frame_header_size + 64, 0x5a);
    garbage[0] = 64;
    garbage[1] = garbage[2] = garbage[3] = 0;

    for (auto state : server_states) {
        SessionPair pair;
        pair.advance_to(state);
        pair.server.session->receive(garbage, pair.now);
        BOOST_CHECK(pair.server.closed_for() == Reason::malformed);
    }
    for (auto state : client_states) {
        SessionPair pair;
        pair.advance_to(state);
        pair.client.session->receive(garbage, pair.now);
        BOOST_CHECK(pair.client.closed_for() == Reason::malformed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
