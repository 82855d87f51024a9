// SPDX-License-Identifier: BSD-3-Clause
//
// Recover and Recovered, and the resumption of a session over another connection.

#include "node_fixture.hpp"
#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

using namespace be::control;
using namespace be::control::test;

namespace {

// Two sessions up to the answer to a Connect that wants to resume.
struct Resuming : SessionPair {
    ConnectInfo mine;

    Resuming()
    {
        mine        = sample_info(client.fabric.identity.fabric_id);
        mine.resume = true;
        mine.epoch  = 9;
    }

    void run()
    {
        start();
        client.session = std::make_unique<Session>(
                Session::client(client.fabric, asked, mine, random_nonce(), now,
                                now + handshake_timeout));
        exchange();
    }
};

Settings with_recovery()
{
    Settings settings;
    settings.features = feature_recovery;
    return settings;
}

} // namespace

BOOST_AUTO_TEST_SUITE(recovery)

BOOST_FIXTURE_TEST_CASE(travels_either_way_any_number_of_times, SessionPair)
{
    advance_to(State::established);

    for (std::uint32_t epoch = 1; epoch < 5; ++epoch) {
        for (auto [from, to] :
             {std::pair(&server, &client), std::pair(&client, &server)}) {
            auto mine  = sample_recovery(from->fabric.identity.fabric_id);
            mine.epoch = epoch;
            mine.path  = epoch % 2;
            BOOST_TEST(from->session->recover(mine));
            exchange();
            mine.connect.features = all_features; // as agreed
            BOOST_CHECK(to->last(Kind::recover).recover == mine);

            BOOST_TEST(to->session->recovered(epoch));
            exchange();
            BOOST_TEST(from->last(Kind::recovered).recover.epoch == epoch);
        }
    }
    BOOST_TEST(!server.session->finished());
    BOOST_TEST(!client.session->finished());
}

// Whichever end lacks the feature: nothing is sent, and what arrives is refused.
BOOST_AUTO_TEST_CASE(nothing_without_the_feature)
{
    for (bool server_lacks_it : {true, false}) {
        for (const Message &message :
             {Message(Recover{sample_recovery(1)}), Message(Recovered{1})}) {
            SessionPair pair;
            auto &end                    = server_lacks_it ? pair.server : pair.client;
            end.fabric.settings.features = ~feature_recovery;
            pair.advance_to(State::established);
            for (auto *either : {&pair.server, &pair.client}) {
                BOOST_TEST(!either->session->recover(sample_recovery(1)));
                BOOST_TEST(!either->session->recovered(1));
                BOOST_TEST(either->output().empty());
                pair.deliver(*either, message);
                BOOST_CHECK(either->closed_for() == Reason::unexpected);
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(end_of_another_fabric_is_refused, SessionPair)
{
    advance_to(State::established);
    deliver(server, Recover{sample_recovery(client.fabric.identity.fabric_id ^ 1)});
    BOOST_CHECK(server.closed_for() == Reason::malformed);
    BOOST_TEST(!server.has(Kind::recover));
}

BOOST_FIXTURE_TEST_CASE(resumption_is_the_fabrics_decision, Resuming)
{
    run();
    auto request = server.last(Kind::connect).info;
    BOOST_TEST(request.resume);
    BOOST_TEST(request.session == mine.session);
    BOOST_TEST(request.epoch == 9u);

    BOOST_TEST(server.session->refuse(Reason::unknown_session, "no such session"));
    exchange();
    BOOST_CHECK(client.closed_for() == Reason::unknown_session);
}

// A release without the feature would not see the field, and begin anew.
BOOST_FIXTURE_TEST_CASE(resumption_is_not_asked_of_who_does_not_know_it, Resuming)
{
    server.fabric.settings.features = 0;
    run();
    BOOST_CHECK(client.closed_for() == Reason::incompatible);
    BOOST_TEST(!server.has(Kind::connect));
    BOOST_CHECK(server.closed_for() == Reason::incompatible);
}

BOOST_FIXTURE_TEST_CASE(resumption_without_the_feature_is_unexpected, SessionPair)
{
    server.fabric.settings.features = 0;
    advance_to(State::connect_wait);
    auto info   = sample_info(client.fabric.identity.fabric_id);
    info.resume = true;
    deliver(server, Connect{info});
    BOOST_CHECK(server.closed_for() == Reason::unexpected);
}

BOOST_FIXTURE_TEST_CASE(fabrics_recover_through_the_node, NodeFixture)
{
    Recorder a(node, port, with_recovery()), b(node, port, with_recovery());
    RecoverInfo from_a{1, path_rdma, {1, 2, 3, 4, 5, 6}, a.info()};
    RecoverInfo from_b{2, path_tcp, {6, 5, 4, 3, 2, 1}, b.info()};
    from_b.connect.qps.clear();

    // At the first moment that the rules allow.
    a.respond = [&](const Happening &happening) {
        if (happening.kind == Happening::Kind::accept) {
            node->ready(happening.id);
            node->recover(happening.id, from_a);
        }
    };
    auto id      = a.connect(port, b.identity());
    auto request = b.next(Happening::Kind::connect);
    a.next(Happening::Kind::accept);
    b.next(Happening::Kind::ready);
    node->recover(request.id, from_b);
    node->recovered(request.id, 77);

    from_a.connect.features = from_b.connect.features = feature_recovery;
    auto at_b                                         = b.next(Happening::Kind::recover);
    BOOST_CHECK(at_b.recover == from_a);
    BOOST_TEST(at_b.id == request.id);
    auto at_a = a.next(Happening::Kind::recover);
    BOOST_CHECK(at_a.recover == from_b);
    BOOST_TEST(at_a.id == id);
    BOOST_TEST(a.next(Happening::Kind::recovered).recover.epoch == 77u);
}

// Calls that the connection does not allow harm nothing, mistakes are named.
BOOST_FIXTURE_TEST_CASE(calls_at_the_wrong_time, NodeFixture)
{
    Recorder a(node, port), b(node, port); // neither offers recovery
    auto id = a.connect(port, b.identity());
    expect_established(a, b);
    auto info = sample_recovery(a.identity().fabric_id);
    node->recover(id, info);
    node->recovered(id, 1);
    node->recovered(12345, 1);
    info.path = 9;
    BOOST_CHECK_EXCEPTION(node->recover(id, info), std::invalid_argument,
                          [](const std::exception &error) {
                              return std::string(error.what()).find("path is 9") !=
                                     std::string::npos;
                          });

    node->close(id);
    BOOST_CHECK(a.next().kind == Happening::Kind::closed);
    BOOST_CHECK(b.next().reason == Reason::goodbye);
}

BOOST_FIXTURE_TEST_CASE(a_session_resumes_after_a_cut, NodeFixture)
{
    Recorder a(node, port, with_recovery()), b(node, port, with_recovery());
    b.respond = [&](const Happening &happening) {
        if (happening.kind == Happening::Kind::connect) {
            if (happening.peer.resume && (happening.peer.session != 4711)) {
                node->refuse(happening.id, Reason::unknown_session, "never heard of it");
                return;
            }
            auto answer    = b.info();
            answer.session = happening.peer.session;
            answer.resume  = happening.peer.resume;
            node->accept(happening.id, answer);
        }
    };
    auto mine    = a.info();
    mine.session = 4711;
    auto first   = node->connect(a.identity().fabric_id, port, b.identity(), mine);
    BOOST_TEST(b.next(Happening::Kind::connect).peer.session == 4711u);
    BOOST_TEST(a.next(Happening::Kind::accept).peer.session == 4711u);
    b.next(Happening::Kind::ready);
    node->close(first, false);
    a.next(Happening::Kind::closed);
    BOOST_CHECK(b.next(Happening::Kind::closed).reason == Reason::closed_by_peer);

    mine.resume = true;
    mine.epoch  = 2;
    node->connect(a.identity().fabric_id, port, b.identity(), mine);
    auto request = b.next(Happening::Kind::connect);
    BOOST_TEST(request.peer.resume);
    BOOST_TEST(request.peer.epoch == 2u);
    auto answer = a.next(Happening::Kind::accept);
    BOOST_TEST(answer.peer.resume);
    BOOST_TEST(answer.peer.session == 4711u);
    b.next(Happening::Kind::ready);

    mine.session = 4712;
    node->connect(a.identity().fabric_id, port, b.identity(), mine);
    auto end = a.next(Happening::Kind::closed);
    BOOST_CHECK(end.reason == Reason::unknown_session);
    BOOST_TEST(end.detail.find("never heard of it") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
