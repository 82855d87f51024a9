// SPDX-License-Identifier: BSD-3-Clause
//
// A worker that polls the node runs it, and the control thread does so again when it stops.

#include "control/turn.hpp"
#include "node_fixture.hpp"
#include "poller.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind = Happening::Kind;

namespace {

Settings with_data()
{
    Settings settings;
    settings.features = feature_tcp_path;
    return settings;
}

struct Pair : NodeFixture {
    std::atomic<ConnectionId> at_a{0};
    std::atomic<std::thread::id> seen_by{}; // b's last data
    unsigned sent = 0; // and not taken from b

    std::atomic<bool> goes_on{
            false}; // each data leads to another, by calls inside the callback
    std::atomic<unsigned> depth{0}, most{0}; // of callbacks inside of callbacks

    Recorder a, b; // after what their callbacks use

    Pair() : a(node, port, with_data()), b(node, port, with_data())
    {
        b.respond = [this](const Happening &happening) {
            if (happening.kind == Kind::connect) {
                node->accept(happening.id, b.info());
            } else if (happening.kind == Kind::data) {
                seen_by = std::this_thread::get_id();
                if (goes_on) {
                    most = std::max<unsigned>(most, ++depth);
                    node->poll();
                    node->rest();
                    (void)node->data(at_a, {});
                    --depth;
                }
            }
        };
        at_a = a.connect(port, b.identity());
        expect_established(a, b);
    }

    // Sends and polls until data has come in this thread.
    void take_over()
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (seen_by.load() != std::this_thread::get_id()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            BOOST_REQUIRE(node->data(at_a, {}));
            ++sent;
            node->poll();
        }
        for (; sent != 0; --sent) {
            b.next(Kind::data);
        }
        seen_by = std::thread::id();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(poll, Pair)

BOOST_AUTO_TEST_CASE(callbacks_come_in_poll)
{
    take_over();
    std::vector<std::uint8_t> payload(max_data_payload, 5);
    BOOST_TEST(node->data(at_a, {.payload = payload}));
    ++sent;
    take_over();
}

BOOST_AUTO_TEST_CASE(control_thread_goes_on_when_nobody_polls)
{
    for (bool rests : {false, true}) {
        take_over();
        if (rests) {
            node->rest();
        }
        const auto deadline = std::chrono::steady_clock::now() + patience;
        seen_by             = std::this_thread::get_id();
        while (seen_by.load() == std::this_thread::get_id()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            BOOST_TEST(node->data(at_a, {}));
            b.next(Kind::data);
        }
    }
    node->rest(); // without a loan: nothing
}

// They wait for the control thread, whose turn this thread has.
BOOST_AUTO_TEST_CASE(calls_that_wait)
{
    take_over();
    BOOST_CHECK(node->listen("127.0.0.1") == port);
    {
        Recorder c(node, port, with_data());
        c.connect(port, b.identity());
        b.next(Kind::connect);
        node->poll();
        c.next(Kind::accept);
        b.next(Kind::ready);
        take_over();
    } // detached
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::goodbye);
    take_over();
    a.detach();
    BOOST_CHECK(b.next(Kind::closed).reason == Reason::goodbye);
}

BOOST_AUTO_TEST_CASE(poll_in_a_callback_does_nothing)
{
    const Poller poller(*node, true);
    goes_on = true;
    BOOST_TEST(node->data(at_a, {}));
    for (int i = 0; i < 100; ++i) {
        b.next(Kind::data);
    }
    goes_on = false;
    BOOST_TEST(most == 1u);
}

BOOST_AUTO_TEST_CASE(several_poll)
{
    const Poller one(*node, true), two(*node, true), three(*node, true);
    std::vector<std::uint8_t> payload(50000, 5);
    for (std::uint32_t i = 0; i < 2000; ++i) {
        while (!node->data(at_a, {.epoch = i, .payload = payload})) {
            a.next(Kind::writable);
        }
        if (i >= 10) {
            BOOST_TEST_REQUIRE(b.next(Kind::data).recover.epoch == i - 10);
        }
    }
}

// Memory that was kept is not used for what comes next.
BOOST_AUTO_TEST_CASE(memory_that_is_kept)
{
    b.keeps_memory = true;
    const Poller poller(*node, true);
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::vector<std::uint8_t> payload(1 + i * 1000,
                                                static_cast<std::uint8_t>(i));
        while (!node->data(at_a, {.payload = payload})) {
            a.next(Kind::writable);
        }
        BOOST_TEST((b.next(Kind::data).payload == payload));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turn)

BOOST_AUTO_TEST_CASE(has_one_holder)
{
    Turn turn;
    turn.take();
    BOOST_TEST(turn.is_mine());
    BOOST_TEST(!Turn::Use(turn));
    BOOST_TEST(turn.ask());
    BOOST_TEST(!turn.ask());
    auto other = std::async(std::launch::async, [&] {
        BOOST_TEST(!turn.is_mine());
        return static_cast<bool>(Turn::Use(turn));
    });
    BOOST_TEST(!other.get());
    turn.let_go();
    BOOST_TEST(!turn.is_mine());
    {
        const Turn::Use use(turn);
        BOOST_TEST(static_cast<bool>(use));
        BOOST_TEST(turn.is_mine());
        BOOST_TEST(!Turn::Use(turn));
        BOOST_TEST(turn.is_mine());
    }
    BOOST_TEST(!turn.is_mine());
    BOOST_TEST(static_cast<bool>(Turn::Use(turn)));
}

BOOST_AUTO_TEST_CASE(loan_ends)
{
    Turn turn;
    turn.wait(); // there is none
    turn.ask();
    turn.wait(); // it is not used
    BOOST_TEST(!turn.is_lent());

    turn.ask();
    auto owner = std::async(std::launch::async, [&] { turn.wait(); });
    for (int i = 0; i < 1000; ++i) {
        (void)Turn::Use(turn);
    }
    turn.give_back();
    owner.get();
    BOOST_TEST(!turn.is_lent());
    turn.give_back();
}

BOOST_AUTO_TEST_SUITE_END()

// The last user lets go inside a callback, in poll().
BOOST_AUTO_TEST_CASE(node_that_ends_in_poll)
{
    struct Last final : Sink {
        std::shared_ptr<Node> node = Node::acquire();
        const std::thread::id here = std::this_thread::get_id();
        std::atomic<bool> again{true};

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
            if (std::this_thread::get_id() == here) {
                node.reset();
            } else {
                again = true;
            }
        }
    };
    for (int i = 0; i < 20; ++i) {
        Last last;
        auto *const node    = last.node.get();
        const auto identity = random_identity();
        auto info           = sample_info(identity.fabric_id);
        const auto nobody   = *Address::parse("127.0.0.1:1");
        info.control        = nobody;
        node->attach(identity, &last);
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (last.node) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
            if (last.again.exchange(false)) {
                node->connect(identity.fabric_id, nobody, random_identity(), info);
            }
            node->poll();
        }
    }
}
