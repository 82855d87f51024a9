// SPDX-License-Identifier: BSD-3-Clause
//
// The course of a session, and the ways in which its handshake fails.

#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

using namespace be::control;
using namespace be::control::test;

namespace {

bool mentions(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

template<class T>
const T *find(const std::vector<Message> &messages)
{
    for (const auto &message : messages) {
        if (auto *found = std::get_if<T>(&message)) {
            return found;
        }
    }
    return nullptr;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(session, SessionPair)

BOOST_AUTO_TEST_CASE(whole_course)
{
    server.fabric.settings.features = 0b0110;
    client.fabric.settings.features = 0b0011;
    start();
    exchange();

    auto expected     = sample_info(client.fabric.identity.fabric_id);
    expected.features = 0b0010;
    BOOST_CHECK(server.last(Kind::connect).info == expected);
    BOOST_TEST(server.has(Kind::authenticated));
    BOOST_TEST(client.has(Kind::authenticated));
    BOOST_TEST(server.session->local_fabric() == server.fabric.identity.fabric_id);
    BOOST_TEST(server.session->remote_fabric() == client.fabric.identity.fabric_id);

    BOOST_TEST(server.session->accept(sample_info(server.fabric.identity.fabric_id)));
    exchange();
    expected.fabric_id = server.fabric.identity.fabric_id;
    BOOST_CHECK(client.last(Kind::accept).info == expected);

    BOOST_TEST(client.session->ready());
    exchange();
    server.last(Kind::ready);
    BOOST_CHECK(server.session->state() == State::established);
    BOOST_CHECK(client.session->state() == State::established);

    BOOST_TEST(client.session->close(true, "done"));
    exchange();
    BOOST_CHECK(client.closed_for() == Reason::local);
    BOOST_CHECK(server.closed_for() == Reason::goodbye);
}

BOOST_AUTO_TEST_CASE(bytes_may_arrive_one_by_one)
{
    start();
    for (int round = 0; round < 4; ++round) {
        for (auto [from, to] :
             {std::pair(&server, &client), std::pair(&client, &server)}) {
            for (auto byte : from->session->take_output().bytes) {
                to->session->receive({&byte, 1}, now);
            }
        }
    }
    server.collect();
    BOOST_TEST(server.has(Kind::connect));
}

BOOST_AUTO_TEST_CASE(the_token_never_travels)
{
    start();
    std::vector<std::uint8_t> wire;
    for (int round = 0; round < 4; ++round) {
        for (auto [from, to] :
             {std::pair(&server, &client), std::pair(&client, &server)}) {
            auto output = from->session->take_output();
            wire.insert(wire.end(), output.bytes.begin(), output.bytes.end());
            to->session->receive(output.bytes, now);
        }
    }
    server.last(Kind::connect);

    const auto &token = server.fabric.identity.token;
    BOOST_CHECK(std::search(wire.begin(), wire.end(), token.begin(), token.begin() + 4) ==
                wire.end());
}

BOOST_AUTO_TEST_CASE(client_with_a_wrong_token)
{
    asked.token[15] ^= 1;
    start();
    exchange();
    BOOST_CHECK(server.closed_for() == Reason::authentication);
    BOOST_CHECK(client.closed_for() == Reason::authentication);
    BOOST_TEST(!server.has(Kind::authenticated));
    BOOST_TEST(!server.has(Kind::connect));
}

BOOST_AUTO_TEST_CASE(server_with_a_wrong_token)
{
    advance_to(State::connect_wait);
    // Whoever sits at the server's address guesses a proof.
    deliver(client, Welcome{protocol_minor, 0, Proof{1, 2, 3}});
    BOOST_CHECK(client.closed_for() == Reason::authentication);
    BOOST_TEST(!client.has(Kind::authenticated));
    BOOST_TEST(find<Connect>(client.output()) == nullptr);
}

BOOST_AUTO_TEST_CASE(another_incarnation)
{
    asked.fabric_id ^= 1;
    start();
    exchange();
    BOOST_CHECK(server.closed_for() == Reason::unknown_fabric);
    BOOST_CHECK(client.closed_for() == Reason::unknown_fabric);
}

BOOST_AUTO_TEST_CASE(recorded_hello_is_worthless)
{
    advance_to(State::welcome_wait);
    auto recorded = *find<Hello>(client.output());

    start(); // a new server session, with a new nonce
    deliver(server, recorded);
    BOOST_CHECK(server.closed_for() == Reason::authentication);
}

BOOST_AUTO_TEST_CASE(hello_cannot_be_sent_back_as_welcome)
{
    advance_to(State::welcome_wait);
    auto proof = find<Hello>(client.output())->proof;
    deliver(client, Welcome{protocol_minor, 0, proof});
    BOOST_CHECK(client.closed_for() == Reason::authentication);
}

BOOST_AUTO_TEST_CASE(other_major_is_refused_with_both_versions)
{
    start();
    auto challenge        = *find<Challenge>(server.output());
    challenge.offer.major = protocol_major + 1;
    challenge.offer.minor = 7;
    deliver(client, challenge);
    auto detail = client.last(Kind::closed).detail;
    BOOST_CHECK(client.closed_for() == Reason::version);
    BOOST_TEST(mentions(detail, "2.7"));
    BOOST_TEST(mentions(detail, "1.1"));

    // The server learns why, and so does its log.
    auto refuse = *find<Refuse>(client.output());
    deliver(server, refuse);
    BOOST_TEST(mentions(server.last(Kind::closed).detail, "2.7"));
    BOOST_CHECK(server.closed_for() == Reason::version);
}

BOOST_AUTO_TEST_CASE(server_refuses_another_major_before_it_looks_at_the_proof)
{
    advance_to(State::welcome_wait);
    auto hello        = *find<Hello>(client.output());
    hello.offer.major = protocol_major + 1;
    deliver(server, hello);
    BOOST_CHECK(server.closed_for() == Reason::version);
}

// A newer minor version with a feature nobody here knows: the older end decides.
BOOST_AUTO_TEST_CASE(other_minor_and_unknown_feature_interoperate)
{
    server.fabric.settings.features = 0b1;
    asked                           = server.fabric.identity;
    start();

    Offer offer{protocol_major, protocol_minor + 9, (1ull << 63) | 0b1, random_nonce()};
    Transcript transcript{find<Challenge>(server.output())->offer, offer, 77,
                          asked.fabric_id, 0};
    deliver(server, Hello{offer, 77, asked.fabric_id,
                          prove(asked.token, transcript, Prover::client)});

    auto output   = server.output();
    auto *welcome = find<Welcome>(output);
    BOOST_REQUIRE(welcome != nullptr);
    BOOST_TEST(welcome->minor == protocol_minor);
    BOOST_TEST(welcome->features == 0b1u);
    transcript.agreed_features = 0b1;
    BOOST_CHECK(welcome->proof == prove(asked.token, transcript, Prover::server));
    deliver(server, Connect{sample_info(77)});
    BOOST_TEST(server.last(Kind::connect).info.features == 0b1u);
}

// Changing the offers on the way cannot weaken what the ends agree on.
BOOST_AUTO_TEST_CASE(tampering_with_offers_is_noticed)
{
    client.fabric.settings.features = 0b11;
    server.fabric.settings.features = 0b11;

    start();
    auto challenge        = *find<Challenge>(server.output());
    challenge.offer.minor = 5;
    deliver(client, challenge);
    deliver(server, *find<Hello>(client.output()));
    BOOST_CHECK(server.closed_for() == Reason::authentication);

    server.events.clear();
    client.events.clear();
    advance_to(State::welcome_wait);
    auto hello           = *find<Hello>(client.output());
    hello.offer.features = 0b01;
    deliver(server, hello);
    BOOST_CHECK(server.closed_for() == Reason::authentication);

    server.events.clear();
    client.events.clear();
    advance_to(State::connect_wait);
    auto welcome     = *find<Welcome>(server.output());
    welcome.features = 0b01;
    deliver(client, welcome);
    BOOST_CHECK(client.closed_for() == Reason::authentication);
}

BOOST_AUTO_TEST_CASE(server_cannot_agree_on_what_was_not_offered)
{
    advance_to(State::welcome_wait);
    auto hello = *find<Hello>(client.output());

    // A server that knows the token, but does not keep to the protocol.
    start();
    auto challenge = *find<Challenge>(server.output());
    deliver(client, challenge);
    hello = *find<Hello>(client.output());
    Transcript transcript{challenge.offer, hello.offer, hello.from_fabric,
                          hello.to_fabric, 0b100};
    deliver(client, Welcome{protocol_minor, 0b100,
                            prove(asked.token, transcript, Prover::server)});
    BOOST_CHECK(client.closed_for() == Reason::malformed);
}

BOOST_AUTO_TEST_CASE(end_of_another_fabric)
{
    advance_to(State::connect_wait);
    deliver(server, Connect{sample_info(client.fabric.identity.fabric_id ^ 1)});
    BOOST_CHECK(server.closed_for() == Reason::malformed);
    BOOST_TEST(!server.has(Kind::connect));

    server.events.clear();
    advance_to(State::accept_wait);
    deliver(client, Accept{sample_info(server.fabric.identity.fabric_id ^ 1)});
    BOOST_CHECK(client.closed_for() == Reason::malformed);
    BOOST_TEST(!client.has(Kind::accept));
}

BOOST_AUTO_TEST_CASE(refusal_carries_reason_and_text)
{
    advance_to(State::deciding);
    BOOST_TEST(server.session->refuse(Reason::incompatible, "link layers differ"));
    exchange();
    BOOST_CHECK(server.closed_for() == Reason::local);
    BOOST_TEST(mentions(client.last(Kind::closed).detail, "link layers differ"));
    BOOST_CHECK(client.closed_for() == Reason::incompatible);

    server.events.clear();
    client.events.clear();
    advance_to(State::confirming);
    BOOST_TEST(client.session->refuse(Reason::duplicate, "already connected"));
    exchange();
    BOOST_CHECK(client.closed_for() == Reason::local);
    BOOST_CHECK(server.closed_for() == Reason::duplicate);
}

BOOST_AUTO_TEST_CASE(close_without_goodbye_says_nothing)
{
    advance_to(State::established);
    BOOST_TEST(client.session->close(false, "done"));
    BOOST_TEST(client.session->take_output().empty());
    server.session->lost(Reason::closed_by_peer, "end of stream");
    BOOST_CHECK(server.closed_for() == Reason::closed_by_peer);
}

BOOST_AUTO_TEST_CASE(nothing_happens_after_the_end)
{
    advance_to(State::established);
    client.session->close(true, "done");
    client.session->take_output();
    client.collect();
    client.events.clear();

    for (const auto &message : sample_messages()) {
        deliver(client, message);
    }
    client.session->lost(Reason::closed_by_peer, "end");
    client.session->tick(now + std::chrono::hours(1));
    BOOST_TEST(!client.session->close(true, "again"));
    BOOST_TEST(!client.session->refuse(Reason::refused, "again"));
    client.collect();
    BOOST_TEST(client.events.empty());
    BOOST_TEST(client.session->take_output().empty());
    BOOST_CHECK(client.session->deadline() == Session::Time::max());
}

// Pings that are answered but whose answers nobody reads.
BOOST_AUTO_TEST_CASE(output_is_bounded)
{
    server.fabric.settings.max_queued = 10000;
    advance_to(State::established);

    std::size_t queued = 0;
    for (int i = 0; (i < 100000) && !server.session->finished(); ++i) {
        deliver(server, Ping{});
        queued += server.session->take_output().size();
    }
    BOOST_CHECK(server.closed_for() == Reason::resources);
    BOOST_TEST(queued >= 9000u);
    BOOST_TEST(queued <= 11000u);

    // Reported output does not count.
    server.events.clear();
    advance_to(State::established);
    for (int i = 0; i < 1000; ++i) {
        deliver(server, Ping{});
        server.session->sent(server.session->take_output().size());
    }
    BOOST_TEST(!server.session->finished());
}

BOOST_AUTO_TEST_SUITE_END()
