// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that do not succeed, or only elsewhere: deadlines, cancellation, failover, restarts.
#include "fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace be::test {

namespace {

// Nobody listens there: the port was free a moment ago, and is below those that the
// kernel hands out.
const std::string nobody = "127.0.0.1:1";

struct Gate {
    void add_to(Server &server)
    {
        server.add("wait", [this](const Request &request) {
            entered.set();
            open.wait();
            was_canceled = request.canceled();
            return Body();
        });
    }
    Event entered;
    Event open;
    std::atomic<bool> was_canceled = false;
};

} // namespace

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(nobody_listens)
{
    Runtime runtime;
    Channel channel(runtime, channel_to({nobody}));
    CallOptions options;
    options.max_attempts = 2;
    const Reply reply    = channel.call("echo", {}, options);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(reply.text.starts_with(nobody + ": "), reply.text);
    BOOST_TEST(reply.attempts == 2u);
}

BOOST_AUTO_TEST_CASE(a_deadline_while_no_server_can_be_reached)
{
    Runtime runtime;
    Channel channel(runtime, channel_to({nobody}));
    CallOptions options;
    options.max_attempts = 1000000;
    options.timeout      = 30ms;
    const auto before    = std::chrono::steady_clock::now();
    const Reply reply    = channel.call("echo", {}, options);
    BOOST_TEST((reply.status == Status::deadline_exceeded), to_string(reply.status));
    BOOST_TEST((std::chrono::steady_clock::now() - before >= 30ms));
}

BOOST_AUTO_TEST_CASE(a_deadline_that_has_passed_already)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    CallOptions options;
    options.timeout = 0us;
    BOOST_TEST((channel.call("echo", {}, options).status == Status::deadline_exceeded));
    BOOST_TEST(server.server.stats().requests == 0u);
}

BOOST_AUTO_TEST_CASE(no_deadline_is_never_reached)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    for (const auto timeout : {no_deadline, no_deadline - 1us, no_deadline / 1000}) {
        CallOptions options;
        options.timeout   = timeout;
        const Reply reply = channel.call("echo", Body::copy("x"), options);
        BOOST_TEST(reply.ok(), reply.text);
    }
}

// One thread on the server: what comes while a handler runs waits, gets too late, and is
// not run.
BOOST_AUTO_TEST_CASE(a_deadline_while_waiting_and_while_running)
{
    EchoServer server;
    Gate gate;
    gate.add_to(server.server);
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    BOOST_TEST(channel.call("echo", {}).ok()); // connects, which takes its time
    CallOptions options;
    options.timeout = 100ms;
    Call running    = channel.start("wait", {}, options);
    BOOST_TEST(gate.entered.wait());
    Call waiting = channel.start("echo", {}, options);
    BOOST_TEST((running.get().status == Status::deadline_exceeded));
    BOOST_TEST((waiting.get().status == Status::deadline_exceeded));
    gate.open.set();
    BOOST_TEST(channel.call("echo", {}).ok());
    const ServerStats stats = server.server.stats();
    BOOST_TEST(stats.requests == 3u); // the first, "wait", and the last
    BOOST_TEST(stats.late + stats.canceled == 1u);
    BOOST_TEST(becomes_idle(server.server));
}

BOOST_AUTO_TEST_CASE(a_call_can_be_canceled_at_every_stage)
{
    EchoServer server;
    Gate gate;
    gate.add_to(server.server);
    Runtime runtime;
    const std::string address = server.start();
    ChannelOptions narrow     = channel_to({address});
    narrow.max_in_flight      = 2;
    Channel channel(runtime, narrow);
    Channel nowhere(runtime, channel_to({nobody}));
    CallOptions patient;
    patient.max_attempts = 1000000;

    Call unconnected = nowhere.start("echo", {}, patient);
    unconnected.cancel();
    BOOST_TEST((unconnected.get().status == Status::canceled));

    Call running = channel.start("wait", {});
    BOOST_TEST(gate.entered.wait());
    Call waiting = channel.start("echo", {});
    Call queued  = channel.start("echo", {});
    queued.cancel();
    BOOST_TEST((queued.get().status == Status::canceled));
    waiting.cancel();
    BOOST_TEST((waiting.get().status == Status::canceled));
    running.cancel();
    BOOST_TEST((running.get().status == Status::canceled));
    BOOST_TEST(server.server.stats().requests == 1u);

    gate.open.set();
    Call last = channel.start("echo", Body::copy("x"));
    BOOST_TEST(last.get().ok());
    last.cancel(); // has ended: nothing to do
    BOOST_TEST(server.server.stats().canceled == 1u);
}

BOOST_AUTO_TEST_CASE(cancellation_races_with_the_answer)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    unsigned canceled = 0;
    const auto bytes  = pattern(20000, 5);

    for (unsigned i = 0; i < 2000; i++) {
        std::vector<std::byte> to(bytes.size());
        CallOptions options;
        options.response = to;
        Call call        = channel.start("echo", Body::borrow(bytes), options);
        call.wait_for(std::chrono::microseconds(i % 200));
        call.cancel();
        const Reply reply = call.get();
        BOOST_REQUIRE((reply.ok() || (reply.status == Status::canceled)));
        BOOST_REQUIRE((!reply.ok() || same(reply.body, bytes)));
        canceled += !reply.ok();
    }
    BOOST_TEST_MESSAGE(canceled << " of 2000 were canceled in time");
    BOOST_TEST(channel.call("echo", {}).ok());
    BOOST_TEST(becomes_idle(server.server));
    BOOST_TEST(runtime.stats().violations == 0u);
}

BOOST_AUTO_TEST_CASE(the_second_address_is_used_when_the_first_is_dead)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({nobody, server.start()}));
    CallOptions once;
    once.max_attempts = 1;
    const Reply reply = channel.call("echo", Body::copy("x"), once);
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST(channel.stats().failures == 1u);
}

BOOST_AUTO_TEST_CASE(closing_ends_calls)
{
    EchoServer server;
    Gate gate;
    gate.add_to(server.server);
    const std::string address = server.start();
    std::optional<Call> left;
    {
        Runtime runtime;
        Channel survivor(runtime, channel_to({address}));
        {
            Channel channel(runtime, channel_to({address}));
            Call call = channel.start("wait", {});
            BOOST_TEST(gate.entered.wait());
            left.emplace(survivor.start("wait", {}));
        }
    }
    BOOST_TEST((left->get().status == Status::closed));
    gate.open.set();
}

BOOST_AUTO_TEST_CASE(a_channel_outlives_its_runtime)
{
    EchoServer server;
    auto runtime = std::make_unique<Runtime>();
    Channel channel(*runtime, channel_to({server.start()}));
    Reply reply = channel.call("echo", Body::take(pattern(100000, 1)));
    BOOST_TEST(reply.ok());
    runtime.reset();
    BOOST_TEST((channel.call("echo", {}).status == Status::closed));
    BOOST_TEST(same(reply.body, pattern(100000, 1)));
}

BOOST_AUTO_TEST_CASE(idempotent_calls_survive_failover_between_two_servers)
{
    EchoServer first;
    auto second = std::make_unique<EchoServer>();
    Gate gate;
    gate.add_to(first.server);
    first.server.add("whom", [](const Request &) { return Body::copy("first"); });
    second->server.add("whom", [](const Request &) { return Body::copy("second"); });
    second->server.add("wait", [](const Request &) { return Body::copy("second"); });
    Runtime runtime;
    Channel channel(runtime, channel_to({first.start(), second->start()}));
    CallOptions idempotent;
    idempotent.idempotent = true;

    BOOST_TEST(channel.call("whom", {}).value().text() == "first");
    Call lost = channel.start("wait", {});
    BOOST_TEST(gate.entered.wait());
    Call again = channel.start("wait", Body::take(pattern(300000, 1)), idempotent);
    BOOST_TEST(!first.server.drain(1ms)); // cut off: a handler is running
    BOOST_TEST((lost.get().status == Status::connection_lost));
    const Reply reply = again.get();
    BOOST_TEST(reply.value().text() == "second");
    gate.open.set();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
