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

BOOST_FIXTURE_TEST_SUITE(node_rules, NodeFixture)

BOOST_AUTO_TEST_CASE(mistakes_are_named)
{
    Recorder a(node, port);
    auto other = random_identity();
    auto info  = a.info();
    auto id    = a.identity().fabric_id;

    BOOST_CHECK_THROW(node->listen("localhost"), std::invalid_argument);
    BOOST_CHECK_THROW(node->listen("127.0.0.1:80"), std::invalid_argument);
    BOOST_CHECK_THROW(node->listen("127.0.0.3", {.first_port = 2, .last_port = 1}),
                      std::invalid_argument);
    BOOST_CHECK_EXCEPTION(node->listen("192.0.2.1"), std::system_error, [](auto &error) {
        return std::string(error.what()).find("192.0.2.1") != std::string::npos;
    });
    BOOST_CHECK_THROW(node->attach({}, &a), std::invalid_argument);
    BOOST_CHECK_THROW(node->attach(other, nullptr), std::invalid_argument);
    BOOST_CHECK_THROW(node->attach(a.identity(), &a), std::invalid_argument);
    BOOST_CHECK_THROW(node->connect(id ^ 1, port, other, sample_info(id ^ 1)),
                      std::invalid_argument);
    BOOST_CHECK_THROW(node->connect(id, port, other, sample_info(id ^ 1)),
                      std::invalid_argument);
    BOOST_CHECK_THROW(node->connect(id, *Address::parse("127.0.0.1"), other, info),
                      std::invalid_argument);
    BOOST_CHECK_THROW(node->connect(id, *Address::parse("0.0.0.0:5"), other, info),
                      std::invalid_argument);
    BOOST_CHECK_THROW(node->connect(id, port, {}, info), std::invalid_argument);
    info.mtu = 9;
    BOOST_CHECK_THROW(node->connect(id, port, other, info), std::invalid_argument);
    BOOST_CHECK_THROW(node->accept(1, info), std::invalid_argument);

    // What may be overtaken by events is no mistake.
    node->accept(12345, a.info());
    node->ready(12345);
    node->refuse(12345, Reason::refused, "");
    node->close(12345);
    node->detach(12345);
    BOOST_TEST(a.is_quiet());
}

BOOST_AUTO_TEST_CASE(one_socket_per_bind_address)
{
    BOOST_CHECK(node->listen("127.0.0.1") == port);
    auto other = node->listen("127.0.0.2");
    BOOST_CHECK(other.ip_string() == "127.0.0.2");
    BOOST_TEST(other.port != 0u);

    Recorder a(node, port), b(node, other);
    a.connect(other, b.identity());
    expect_established(a, b);
}

BOOST_AUTO_TEST_CASE(port_range)
{
    RawListener taken("127.0.0.3");
    auto first = taken.address().port;
    BOOST_REQUIRE(first < 65500);

    ListenOptions only{.first_port = first, .last_port = first};
    BOOST_CHECK_EXCEPTION(node->listen("127.0.0.3", only), std::system_error,
                          [&](const std::system_error &error) {
                              std::string text = error.what();
                              return (error.code() == std::errc::address_in_use) &&
                                     (text.find(std::to_string(first)) != text.npos);
                          });

    only.last_port = static_cast<std::uint16_t>(first + 30);
    auto found     = node->listen("127.0.0.3", only);
    BOOST_TEST(found.port > first);
    BOOST_TEST(found.port <= only.last_port);
}

// A signal to the process must find the application's threads, not this one.
BOOST_AUTO_TEST_CASE(control_thread_takes_no_signals)
{
    sigset_t signals, previous;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, &previous);

    // Were it not blocked there as well, it would kill the process.
    BOOST_REQUIRE_EQUAL(kill(getpid(), SIGUSR1), 0);
    timespec patience_time{5, 0};
    BOOST_TEST(sigtimedwait(&signals, nullptr, &patience_time) == SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

BOOST_AUTO_TEST_CASE(a_throwing_callback_ends_its_connection_only)
{
    set_logger([](Level, const std::string &) {});
    Recorder a(node, port), b(node, port), c(node, port);
    c.respond = [](const Happening &happening) {
        if (happening.kind == Kind::connect) {
            throw std::runtime_error("callback fails");
        }
    };

    a.connect(port, b.identity());
    expect_established(a, b);
    a.connect(port, c.identity());
    BOOST_CHECK(a.next(Kind::closed).reason == Reason::closed_by_peer);
    auto end = c.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::local);
    BOOST_TEST(end.detail.find("callback fails") != std::string::npos);
    BOOST_TEST(b.is_quiet());
    set_logger({});
}

BOOST_AUTO_TEST_CASE(node_is_shared_and_ends_with_its_last_user)
{
    BOOST_TEST(Node::acquire() == node);
    std::weak_ptr<Node> first = node;
    node.reset();
    BOOST_TEST(first.expired());

    node = Node::acquire();
    BOOST_TEST(node->counters().accepted == 0u);
    Recorder a(node, node->listen("127.0.0.1"));
}

// The last user may let go inside a callback, on the control thread itself.
BOOST_AUTO_TEST_CASE(last_user_lets_go_in_a_callback)
{
    // Not a Recorder, which holds the node itself.
    struct Holder : Sink {
        std::shared_ptr<Node> node;
        std::promise<void> alone;
        std::shared_ptr<std::promise<void>> released =
                std::make_shared<std::promise<void>>();

        void on_connect(ConnectionId, const ConnectInfo &) override
        {
        }
        void on_accept(ConnectionId, const ConnectInfo &) override
        {
        }
        void on_ready(ConnectionId) override
        {
        }
        void on_closed(ConnectionId, Reason, const std::string &) override
        {
            auto done = released; // the holder may go at once
            alone.get_future().wait_for(patience);
            node.reset();
            done->set_value();
        }
    };

    Holder holder;
    auto released                = holder.released->get_future();
    auto identity                = random_identity();
    std::weak_ptr<Node> observer = node;
    holder.node                  = node;
    node->attach(identity, &holder);
    node->connect(identity.fabric_id, port, random_identity(),
                  sample_info(identity.fabric_id));
    node.reset();
    holder.alone.set_value();
    BOOST_REQUIRE(released.wait_for(patience) == std::future_status::ready);
    BOOST_TEST(observer.expired());
    node = Node::acquire();
}

BOOST_AUTO_TEST_SUITE_END()
