// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics of one process that connect through the node, by TCP on loopback.

#include "control/logger.hpp"
#include "node_fixture.hpp"
#include "raw_socket.hpp"
#include "recorder.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind = Happening::Kind;

BOOST_FIXTURE_TEST_SUITE(node, NodeFixture)

BOOST_AUTO_TEST_CASE(whole_course)
{
    Settings first, second;
    first.features  = 0b011;
    second.features = 0b110;
    Recorder a(node, port, first), b(node, port, second);

    auto id      = a.connect(port, b.identity());
    auto request = b.next(Kind::connect);
    auto answer  = a.next(Kind::accept);

    auto expected     = a.info();
    expected.features = 0b010;
    BOOST_CHECK(request.peer == expected);
    expected          = b.info();
    expected.features = 0b010;
    BOOST_CHECK(answer.peer == expected);
    BOOST_TEST(answer.id == id);
    BOOST_TEST(request.id != id);
    BOOST_TEST(b.next(Kind::ready).id == request.id);

    node->close(id);
    auto end_a = a.next(Kind::closed);
    auto end_b = b.next(Kind::closed);
    BOOST_TEST(end_a.id == id);
    BOOST_CHECK(end_a.reason == Reason::local);
    BOOST_TEST(end_b.id == request.id);
    BOOST_CHECK(end_b.reason == Reason::goodbye);
    BOOST_TEST(end_b.detail.find("127.0.0.1:") != std::string::npos);

    auto counters = node->counters();
    BOOST_TEST(counters.accepted == 1u);
    BOOST_TEST(counters.dialed == 1u);
    BOOST_TEST(counters.authenticated == 2u);
    BOOST_TEST(counters.half_open == 0u);
    BOOST_TEST(counters.messages_in == 7u);
    BOOST_TEST(counters.messages_out == 7u);
    BOOST_TEST(counters.bytes_in == counters.bytes_out);
    BOOST_TEST(closed(Reason::local) == 1u);
    BOOST_TEST(closed(Reason::goodbye) == 1u);
}

BOOST_AUTO_TEST_CASE(close_without_goodbye)
{
    Recorder a(node, port), b(node, port);
    auto id = a.connect(port, b.identity());
    expect_established(a, b);
    node->close(id, false);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::local);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::closed_by_peer);
}

BOOST_AUTO_TEST_CASE(responder_refuses)
{
    Recorder a(node, port), b(node, port);
    b.respond = [&](const Happening &happening) {
        if (happening.kind == Kind::connect) {
            node->refuse(happening.id, Reason::incompatible, "link layers differ");
        }
    };
    a.connect(port, b.identity());
    b.next(Kind::connect);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::local);
    auto end = a.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::incompatible);
    BOOST_TEST(end.detail.find("link layers differ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(initiator_refuses)
{
    Recorder a(node, port), b(node, port);
    a.respond = [&](const Happening &happening) {
        if (happening.kind == Kind::accept) {
            node->refuse(happening.id, Reason::duplicate, "one is enough");
        }
    };
    a.connect(port, b.identity());
    b.next(Kind::connect);
    a.next(Kind::accept);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::local);
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::duplicate);
}

BOOST_AUTO_TEST_CASE(wrong_token_and_unknown_fabric)
{
    Recorder a(node, port), b(node, port);

    auto stranger = b.identity();
    stranger.token[0] ^= 1;
    a.connect(port, stranger);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::authentication);

    stranger = b.identity();
    stranger.fabric_id ^= 1;
    auto start = std::chrono::steady_clock::now();
    a.connect(port, stranger);
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::unknown_fabric);
    BOOST_CHECK(std::chrono::steady_clock::now() - start < 5s);
    BOOST_TEST(node->counters().dialed == 2u); // neither was tried again

    BOOST_TEST(b.is_quiet());
    auto rejected = node->counters().rejected;
    BOOST_TEST(rejected[static_cast<std::size_t>(Reason::authentication)] == 1u);
    BOOST_TEST(rejected[static_cast<std::size_t>(Reason::unknown_fabric)] == 1u);
}

BOOST_AUTO_TEST_CASE(fabric_connects_to_itself)
{
    Recorder a(node, port);
    a.connect(port, a.identity());
    std::multiset<Kind> kinds{a.next().kind, a.next().kind, a.next().kind};
    BOOST_CHECK(kinds == (std::multiset<Kind>{Kind::connect, Kind::accept, Kind::ready}));
}

// Each keeps the connection whose initiator has the smaller id, and both keep one.
BOOST_AUTO_TEST_CASE(simultaneous_connects)
{
    for (int round = 0; round < 50; ++round) {
        Recorder a(node, port), b(node, port);
        auto keep_one = [&](Recorder &self) {
            return [&](const Happening &happening) {
                if (happening.kind == Kind::accept) {
                    node->ready(happening.id);
                } else if (happening.kind == Kind::connect) {
                    if (happening.peer.fabric_id < self.identity().fabric_id) {
                        node->accept(happening.id, self.info());
                    } else {
                        node->refuse(happening.id, Reason::duplicate,
                                     "already connecting");
                    }
                }
            };
        };
        a.respond = keep_one(a);
        b.respond = keep_one(b);

        auto other = std::async(std::launch::async,
                                [&] { b.connect(port, a.identity()); });
        a.connect(port, b.identity());
        other.get();

        auto &winner = (a.identity().fabric_id < b.identity().fabric_id) ? a : b;
        auto &loser  = (&winner == &a) ? b : a;
        std::multiset<Kind> at_winner{winner.next().kind, winner.next().kind,
                                      winner.next().kind};
        std::multiset<Kind> at_loser{loser.next().kind, loser.next().kind,
                                     loser.next().kind};
        BOOST_CHECK(at_winner ==
                    (std::multiset<Kind>{Kind::connect, Kind::closed, Kind::accept}));
        BOOST_CHECK(at_loser ==
                    (std::multiset<Kind>{Kind::closed, Kind::connect, Kind::ready}));
    }
}

BOOST_AUTO_TEST_CASE(five_hundred_connections)
{
    constexpr unsigned count = 500;
    rlimit limit{};
    BOOST_REQUIRE_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    BOOST_REQUIRE_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    BOOST_REQUIRE_GE(limit.rlim_cur, 2 * count + 100);

    Recorder a(node, port), b(node, port);
    auto start = std::chrono::steady_clock::now();
    std::set<ConnectionId> ids;
    for (unsigned i = 0; i < count; ++i) {
        ids.insert(a.connect(port, b.identity()));
    }
    BOOST_TEST(ids.size() == count);

    for (unsigned i = 0; i < count; ++i) {
        BOOST_TEST(ids.erase(a.next(Kind::accept).id) == 1u);
    }
    std::map<ConnectionId, int> seen;
    for (unsigned i = 0; i < 2 * count; ++i) {
        ++seen[b.next().id];
    }
    BOOST_TEST(seen.size() == count);
    auto time = std::chrono::steady_clock::now() - start;
    BOOST_TEST_MESSAGE(
            count << " connections in "
                  << std::chrono::duration_cast<std::chrono::milliseconds>(time).count()
                  << " ms");
    BOOST_TEST(node->counters().connections == 2 * count);

    a.detach();
    for (unsigned i = 0; i < count; ++i) {
        BOOST_CHECK(b.next(Kind::closed).reason == Reason::goodbye);
    }
    BOOST_TEST(closed(Reason::goodbye) == count);
}

BOOST_AUTO_TEST_CASE(detach_waits_for_a_running_callback)
{
    Recorder a(node, port);
    std::promise<void> entered, leave;
    auto b = std::make_unique<Recorder>(node, port);

    b->respond = [&](const Happening &happening) {
        if (happening.kind == Kind::connect) {
            entered.set_value();
            leave.get_future().wait_for(patience);
        }
    };
    a.connect(port, b->identity());
    BOOST_REQUIRE(entered.get_future().wait_for(patience) == std::future_status::ready);

    auto gone = std::async(std::launch::async, [&] { b->detach(); });
    BOOST_CHECK(gone.wait_for(50ms) == std::future_status::timeout);
    leave.set_value();
    gone.get();
    b.reset(); // a callback from now on would touch freed memory
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::goodbye);
}

BOOST_AUTO_TEST_CASE(fabrics_come_and_go_under_load)
{
    constexpr int threads = 4;
    constexpr int rounds  = 25;
    Recorder server(node, port);

    std::vector<std::future<void>> workers;
    for (int i = 0; i < threads; ++i) {
        workers.push_back(std::async(std::launch::async, [&, i] {
            for (int round = 0; round < rounds; ++round) {
                Recorder client(node, port);
                for (int n = 0; n < 4; ++n) {
                    auto id = client.connect(port, server.identity());
                    if ((round + n + i) % 3 == 0) {
                        node->close(id);
                    } else if ((round + n + i) % 3 == 1) {
                        client.next();
                    }
                }
            }
        }));
    }
    for (auto &worker : workers) {
        worker.get();
    }

    // What was announced ends exactly once; only the connection of one more client
    // stays.
    Recorder last(node, port);
    last.connect(port, server.identity());
    last.next(Kind::accept);
    std::map<ConnectionId, std::uint64_t> open;
    for (bool last_is_ready = false; !last_is_ready || (open.size() != 1);) {
        auto happening = server.next();
        if (happening.kind == Kind::connect) {
            BOOST_TEST(open.emplace(happening.id, happening.peer.fabric_id).second);
        } else if (happening.kind == Kind::closed) {
            BOOST_TEST(open.erase(happening.id) == 1u);
        } else {
            BOOST_REQUIRE(open.contains(happening.id));
            last_is_ready |= (open[happening.id] == last.identity().fabric_id);
        }
    }
}

BOOST_AUTO_TEST_CASE(closing_while_dialing)
{
    RawListener silent; // accepts in the kernel, never speaks
    Recorder a(node, port);
    auto id = a.connect(silent.address(), random_identity());
    node->close(id);
    auto end = a.next(Kind::closed);
    BOOST_TEST(end.id == id);
    BOOST_CHECK(end.reason == Reason::local);
}

BOOST_AUTO_TEST_CASE(nobody_listens)
{
    Address address;
    {
        RawListener gone;
        address = gone.address();
    }
    Recorder a(node, port);
    auto start = std::chrono::steady_clock::now();
    a.connect(address, random_identity());
    auto end = a.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::unreachable);
    BOOST_TEST(end.detail.find(address.to_string()) != std::string::npos);
    // At once, not after attempts until peer_timeout.
    BOOST_CHECK(std::chrono::steady_clock::now() - start < 5s);
    BOOST_TEST(node->counters().dialed == 1u);
}

BOOST_AUTO_TEST_CASE(overloaded_server_is_tried_again)
{
    RawListener listener;
    Recorder a(node, port);
    auto id = a.connect(listener.address(), random_identity());

    listener.accept().close();
    {
        auto busy = listener.accept();
        busy.send(Refuse{Reason::resources, "busy"});
        busy.read_to_end();
    }
    BOOST_TEST(a.is_quiet());
    auto third = listener.accept();
    third.send(Refuse{Reason::refused, "not you"});

    auto end = a.next(Kind::closed);
    BOOST_TEST(end.id == id);
    BOOST_CHECK(end.reason == Reason::refused);
    BOOST_TEST(node->counters().dialed == 3u);
    BOOST_TEST(a.is_quiet());
}

BOOST_AUTO_TEST_CASE(trying_again_ends_with_peer_timeout)
{
    Settings hasty;
    hasty.peer_timeout = 300ms;
    Recorder a(node, port, hasty);
    RawListener listener;
    std::atomic<bool> stop{false};
    auto server = std::async(std::launch::async, [&] {
        int count = 0;
        while (!stop) {
            listener.accept().close();
            ++count;
        }
        return count;
    });

    auto start = std::chrono::steady_clock::now();
    a.connect(listener.address(), random_identity());
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::closed_by_peer);
    BOOST_CHECK(std::chrono::steady_clock::now() - start < 10s);
    stop = true;
    RawSocket last(listener.address()); // wakes the server
    BOOST_TEST(server.get() >= 3);
}

BOOST_AUTO_TEST_CASE(newer_server)
{
    RawListener listener;
    Recorder a(node, port);
    a.connect(listener.address(), random_identity());

    auto peer = listener.accept();
    peer.send(Challenge{{protocol_major + 1, 3, 0, random_nonce()}});
    auto refuse = peer.receive_as<Refuse>();
    BOOST_CHECK(refuse.reason == Reason::version);
    BOOST_TEST(refuse.text.find("2.3") != std::string::npos);
    auto end = a.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::version);
    BOOST_TEST(end.detail.find("1.1") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
