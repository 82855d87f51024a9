// SPDX-License-Identifier: BSD-3-Clause
//
// The question whether a fabric still lives where it did.

#include "node_fixture.hpp"
#include "raw_socket.hpp"
#include "session_pair.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;

namespace {

// A server's session, and one that asks it for the fabric `to`.
struct Probing : SessionPair {
    void probe(std::uint64_t to)
    {
        start();
        client.session = std::make_unique<Session>(
                Session::prober(client.fabric, to, now, now + handshake_timeout));
    }

    std::uint64_t served() const
    {
        return server.fabric.identity.fabric_id;
    }

    ProbeResult result()
    {
        BOOST_REQUIRE(client.has(Kind::probed));
        return client.events.front().probe;
    }
};

struct ProbingNode : NodeFixture {
    Settings settings;

    ProbingNode()
    {
        settings.probe_timeout = 300ms;
    }

    ProbeResult probe(const Address &address, std::uint64_t fabric_id)
    {
        Recorder a(node, port, settings);
        return probe(a, address, fabric_id);
    }

    ProbeResult probe(Recorder &a, const Address &address, std::uint64_t fabric_id)
    {
        auto id     = node->probe(a.identity().fabric_id, address, fabric_id);
        auto answer = a.next(Happening::Kind::probed);
        BOOST_TEST(answer.id == id);
        BOOST_TEST(a.is_quiet());
        return answer.probe;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(probe)

BOOST_FIXTURE_TEST_CASE(living_fabric, Probing)
{
    probe(served());
    exchange();
    BOOST_CHECK(result() == ProbeResult::alive);
    BOOST_CHECK(client.closed_for() == Reason::goodbye);
    BOOST_CHECK(server.closed_for() == Reason::goodbye);
    BOOST_TEST(server.session->is_probe());
    BOOST_TEST(!server.session->authenticated());
}

BOOST_FIXTURE_TEST_CASE(fabric_that_is_not_there, Probing)
{
    probe(served() ^ 1);
    exchange();
    BOOST_CHECK(result() == ProbeResult::gone);
    BOOST_CHECK(client.closed_for() == Reason::unknown_fabric);
    BOOST_CHECK(server.closed_for() == Reason::unknown_fabric);
}

// The answer says yes and no more.
BOOST_FIXTURE_TEST_CASE(answer_tells_nothing_else, Probing)
{
    probe(served());
    server.output();
    deliver(server, client.output().at(0));
    auto answer = server.output();
    BOOST_REQUIRE_EQUAL(answer.size(), 1u);
    BOOST_TEST(std::get<Pong>(answer[0]).value == served());

    // And leads nowhere.
    deliver(server, Probe{served()});
    BOOST_TEST(server.output().empty());
}

BOOST_FIXTURE_TEST_CASE(older_release_is_alive, Probing)
{
    for (auto reason : {Reason::unexpected, Reason::malformed}) {
        probe(served());
        deliver(client, Refuse{reason, "message kind 13"});
        BOOST_CHECK(result() == ProbeResult::alive);
        BOOST_CHECK(client.closed_for() == reason);
        client.events.clear();
    }
}

BOOST_FIXTURE_TEST_CASE(what_is_no_answer_says_nothing, Probing)
{
    for (const Message &message :
         {Message(Refuse{Reason::resources, "busy"}), Message(Pong{served() ^ 1}),
          Message(Hello{}), Message(Goodbye{}), Message(Ping{})}) {
        probe(served());
        deliver(client, message);
        BOOST_TEST(!client.has(Kind::probed), name_of(message));
        BOOST_TEST(client.session->finished());
        client.events.clear();
    }

    probe(served());
    client.session->tick(now + handshake_timeout);
    BOOST_CHECK(client.closed_for() == Reason::timeout);
    BOOST_TEST(!client.has(Kind::probed));
}

// Another major version lives there as well.
BOOST_FIXTURE_TEST_CASE(version_does_not_matter, Probing)
{
    probe(served());
    deliver(client, Challenge{{protocol_major + 1, 0, 0, random_nonce()}});
    BOOST_TEST(!client.session->finished());
    deliver(client, Pong{served()});
    BOOST_CHECK(result() == ProbeResult::alive);
}

BOOST_FIXTURE_TEST_CASE(answers_through_the_node, ProbingNode)
{
    Recorder b(node, port);
    auto former = b.identity().fabric_id;

    BOOST_CHECK(probe(port, former) == ProbeResult::alive);
    auto counters = node->counters();
    BOOST_TEST(counters.probes_answered == 1u);
    BOOST_TEST(counters.authenticated == 0u);
    for (auto count : counters.rejected) {
        BOOST_TEST(count == 0u);
    }

    BOOST_TEST(b.is_quiet());
    b.detach();
    BOOST_CHECK(probe(port, former) == ProbeResult::gone);
    BOOST_TEST(
            node->counters().rejected[static_cast<std::size_t>(Reason::unknown_fabric)] ==
            1u);
}

BOOST_FIXTURE_TEST_CASE(nobody_listens, ProbingNode)
{
    Address address;
    {
        RawListener former;
        address = former.address();
    }
    settings.probe_timeout = 1min;
    BOOST_CHECK(probe(address, 1) == ProbeResult::gone);
    BOOST_TEST(node->counters().dialed == 1u);
}

BOOST_FIXTURE_TEST_CASE(silence_is_unknown, ProbingNode)
{
    RawListener silent; // accepts in the kernel, never speaks
    auto start = std::chrono::steady_clock::now();
    BOOST_CHECK(probe(silent.address(), 1) == ProbeResult::unknown);
    BOOST_CHECK(std::chrono::steady_clock::now() - start >= 300ms);
}

// Who drops it has said nothing, and is asked again.
BOOST_FIXTURE_TEST_CASE(dropped_probe_is_made_again, ProbingNode)
{
    RawListener listener;
    settings.probe_timeout = 1min;
    Recorder a(node, port, settings);
    auto id = node->probe(a.identity().fabric_id, listener.address(), 0x77);
    {
        auto first = listener.accept();
        BOOST_TEST(first.receive_as<Probe>().to_fabric == 0x77u);
    }
    auto second = listener.accept();
    second.receive_as<Probe>();
    BOOST_TEST(a.is_quiet());
    second.send(Refuse{Reason::malformed, "message kind 13 is unknown"});
    auto answer = a.next(Happening::Kind::probed);
    BOOST_TEST(answer.id == id);
    BOOST_CHECK(answer.probe == ProbeResult::alive);
}

// One answer, whatever else comes; and none after detach().
BOOST_FIXTURE_TEST_CASE(detach_ends_a_probe, ProbingNode)
{
    RawListener listener;
    settings.probe_timeout = 1min;
    Recorder a(node, port, settings);
    node->probe(a.identity().fabric_id, listener.address(), 0x77);
    auto socket = listener.accept();
    socket.receive_as<Probe>();
    a.detach();
    socket.send(Pong{0x77});
    socket.read_to_end();
    BOOST_TEST(a.is_quiet());
}

BOOST_FIXTURE_TEST_CASE(mistakes_are_named, ProbingNode)
{
    Recorder a(node, port);
    auto own = a.identity().fabric_id;
    BOOST_CHECK_THROW(node->probe(own ^ 1, port, 1), std::invalid_argument);
    BOOST_CHECK_THROW(node->probe(own, port, 0), std::invalid_argument);
    BOOST_CHECK_THROW(node->probe(own, *Address::parse("127.0.0.1"), 1),
                      std::invalid_argument);
    BOOST_CHECK_THROW(node->probe(own, *Address::parse("0.0.0.0:5"), 1),
                      std::invalid_argument);
    BOOST_TEST(a.is_quiet());
}

BOOST_AUTO_TEST_SUITE_END()
