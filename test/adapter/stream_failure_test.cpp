// SPDX-License-Identifier: BSD-3-Clause
//
// Streams that end in the middle: by either side, by the deadline, by a death, by draining.
#include "raw_client.hpp"
#include "stream_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace be::test {

namespace {

using adapter::wire::Kind;

// A server with a stream that is held, of which one part has come.
struct Middle {
    explicit Middle(CallOptions options = {}) :
        channel(runtime, channel_to({start()})), opened(channel.open("hold", {}, options))
    {
        BOOST_REQUIRE((opened.parts.write(numbered(0, 100000)) == Status::ok));
        BOOST_REQUIRE(held.entered.wait());
        BOOST_REQUIRE(is_numbered(held.parts->read().body, 0, 100000));
    }
    std::string start()
    {
        held.add_to(server.server);
        return server.start();
    }
    // Nothing is left of it, and the channel goes on.
    void check_after()
    {
        held.parts.reset();
        held.responder.reset();
        BOOST_TEST(channel.call("echo", Body::copy("after")).ok());
        BOOST_TEST(becomes_idle(server.server));
        BOOST_TEST(pool_becomes_empty());
        BOOST_TEST(runtime.stats().violations == 0u);
        BOOST_TEST(server.runtime.stats().violations == 0u);
    }

    EchoServer server;
    HeldStream held;
    Runtime runtime;
    Channel channel;
    StreamCall opened;
};

} // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(the_caller_cancels_in_the_middle)
{
    Middle middle;
    Event told;
    Part got;
    middle.held.parts->start_read([&](Part part) {
        got = std::move(part);
        told.set();
    });
    middle.opened.call.cancel();
    BOOST_TEST((middle.opened.call.get().status == Status::canceled));
    BOOST_TEST((middle.opened.parts.write({}) == Status::canceled));
    BOOST_TEST((middle.opened.parts.read().status == Status::canceled));
    BOOST_TEST(told.wait());
    BOOST_TEST((got.status == Status::canceled));
    BOOST_TEST(middle.held.request->canceled());
    BOOST_TEST((middle.held.parts->write({}) == Status::canceled));
    middle.check_after();
}

BOOST_AUTO_TEST_CASE(a_stream_that_the_caller_drops_is_no_whole_body)
{
    Middle middle;
    {
        const Stream dropped = std::move(middle.opened.parts);
    }
    const Reply reply = middle.opened.call.get();
    BOOST_TEST((reply.status == Status::canceled));
    BOOST_TEST(reply.text == "its stream was dropped before finish()");
    BOOST_TEST((middle.held.parts->read().status == Status::canceled));
    middle.check_after();
}

BOOST_AUTO_TEST_CASE(the_handler_fails_in_the_middle)
{
    Middle middle;
    // A write that waits hears it, too.
    Status last = Status::ok;
    std::thread writer([&] {
        while (last == Status::ok) {
            last = middle.opened.parts.write(numbered(1, 100000));
        }
    });
    BOOST_TEST((middle.held.parts->write(numbered(0, 10)) == Status::ok));
    middle.held.responder->fail("no room", 28);
    const Reply reply = middle.opened.call.get();
    writer.join();
    BOOST_TEST((last == Status::handler_failed));
    BOOST_TEST((reply.status == Status::handler_failed));
    BOOST_TEST(reply.text == "no room");
    BOOST_TEST(reply.code == 28u);
    BOOST_TEST((middle.opened.parts.read().status == Status::handler_failed));
    BOOST_TEST((middle.held.parts->read().status == Status::closed));
    middle.check_after();
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_or_forgets_to_answer)
{
    EchoServer server;
    server.server.add_stream("throw", [](const Request &, Stream &parts) -> Body {
        parts.read();
        throw std::runtime_error("bad part");
    });
    server.server.add_stream_async("forget", [](Request, Stream, Responder) {});
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    auto [parts, call] = channel.open("throw", {});
    BOOST_TEST((parts.write(Body::copy("x")) == Status::ok));
    BOOST_TEST((parts.read().status == Status::handler_failed));
    BOOST_TEST(call.get().text == "bad part");
    BOOST_TEST((channel.open("forget", {}).call.get().status != Status::ok));
}

BOOST_AUTO_TEST_CASE(the_deadline_passes_in_the_middle)
{
    CallOptions options;
    options.timeout = 1s;
    Middle middle(options);
    const Part part = middle.held.parts->read(); // waits
    BOOST_TEST(((part.status == Status::deadline_exceeded) ||
                (part.status == Status::canceled)),
               to_string(part.status));
    BOOST_TEST((middle.opened.parts.read().status == Status::deadline_exceeded));
    BOOST_TEST((middle.opened.call.get().status == Status::deadline_exceeded));
    middle.check_after();
}

// The client says nothing more, as one that hangs: the server has its own look at the clock.
BOOST_AUTO_TEST_CASE(the_server_ends_what_is_late_by_itself)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server);
    RawClient client(server.start());
    client.send({.kind  = Kind::request,
                 .flags = adapter::wire::flag_stream,
                 .id    = 1,
                 .value = 1000000,
                 .code  = 4,
                 .text  = "hold"});
    BOOST_REQUIRE(held.entered.wait());
    BOOST_TEST((held.parts->read().status == Status::deadline_exceeded));
}

BOOST_AUTO_TEST_CASE(the_client_dies_in_the_middle)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server, {.parts = 4, .max_part = 1000000});
    {
        RawClient client(server.start());
        client.send({.kind  = Kind::request,
                     .flags = adapter::wire::flag_stream,
                     .id    = 1,
                     .code  = 4,
                     .text  = "hold"});
        BOOST_REQUIRE(held.entered.wait());
        const auto bytes = pattern(5000, 1);
        for (uint64_t i = 0; i < 4; i++) {
            client.send({.kind = Kind::part, .id = 1, .value = i}, bytes);
        }
        const Part first = held.parts->read();
        BOOST_TEST((first && same(first.body, bytes)));
        client.cut_link();
        Status status = Status::ok;
        while (status == Status::ok) {
            status = held.parts->read().status;
        }
        BOOST_TEST((status == Status::connection_lost));
        BOOST_TEST((held.parts->write({}) == Status::connection_lost));
    }
    BOOST_TEST(held.request->canceled());
    held.parts.reset();
    held.responder.reset();
    BOOST_TEST(becomes_idle(server.server));
    BOOST_TEST(pool_becomes_empty());
}

BOOST_AUTO_TEST_CASE(the_server_dies_in_the_middle)
{
    Middle middle;
    middle.server.server.drain(1ms); // cuts it off: the handler does not answer
    BOOST_TEST((middle.opened.parts.read().status == Status::connection_lost));
    BOOST_TEST((middle.opened.parts.write({}) == Status::connection_lost));
    BOOST_TEST((middle.opened.call.get().status == Status::connection_lost));
    BOOST_TEST((middle.held.parts->read().status == Status::connection_lost));
}

BOOST_AUTO_TEST_CASE(draining_waits_for_streams_that_were_begun)
{
    Middle middle;
    bool in_time = false;
    std::thread drain([&] { in_time = middle.server.server.drain(patience); });
    // nothing new is taken
    CallOptions once;
    once.max_attempts = 1;
    const auto late   = std::chrono::steady_clock::now() + patience;
    while (middle.channel.call("echo", {}, once).ok() &&
           (std::chrono::steady_clock::now() < late)) {
    }
    for (uint64_t i = 1; i < 20; i++) {
        BOOST_REQUIRE((middle.opened.parts.write(numbered(i, 100000)) == Status::ok));
        BOOST_REQUIRE(is_numbered(middle.held.parts->read().body, i, 100000));
        BOOST_REQUIRE((middle.held.parts->write(numbered(i, 100)) == Status::ok));
        BOOST_REQUIRE(is_numbered(middle.opened.parts.read().body, i, 100));
    }
    middle.opened.parts.finish();
    BOOST_TEST(middle.held.parts->read().last);
    middle.held.responder->reply(Body::copy("whole"));
    BOOST_TEST(middle.opened.call.get().value().text() == "whole");
    drain.join();
    BOOST_TEST(in_time);
}

BOOST_AUTO_TEST_CASE(closing_the_channel_ends_its_streams)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server);
    Runtime runtime;
    auto channel      = std::make_unique<Channel>(runtime, channel_to({server.start()}));
    StreamCall opened = channel->open("hold", {});
    BOOST_REQUIRE(held.entered.wait());
    channel.reset();
    BOOST_TEST((opened.parts.read().status == Status::closed));
    BOOST_TEST((opened.call.get().status == Status::closed));
    BOOST_TEST((held.parts->read().status == Status::canceled ||
                held.parts->read().status == Status::connection_lost));
}

BOOST_AUTO_TEST_CASE(streams_outlive_what_they_belong_to)
{
    HeldStream held;
    std::optional<StreamCall> opened;
    {
        EchoServer server;
        held.add_to(server.server);
        {
            Runtime runtime;
            Channel channel(runtime, channel_to({server.start()}));
            opened.emplace(channel.open("hold", {}));
            BOOST_REQUIRE(held.entered.wait());
            BOOST_TEST((held.parts->write(numbered(0, 6000)) == Status::ok));
        }
        BOOST_TEST((opened->parts.read().status == Status::closed));
        BOOST_TEST((opened->parts.write({}) == Status::closed));
        BOOST_TEST((opened->call.get().status == Status::closed));
    }
    Status status = Status::ok;
    while (status == Status::ok) {
        status = held.parts->read().status;
    }
    BOOST_TEST(((status == Status::connection_lost) || (status == Status::canceled)),
               to_string(status));
    BOOST_TEST((held.parts->write({}) == status));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_too_large)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server, {.parts = 4, .max_part = 50000});
    server.server.add_stream_task("large", [](Request, Stream parts) -> Task<Body> {
        co_await parts.start_write(Body::take(pattern(60000, 1)));
        const Part part = co_await parts.start_read();
        co_return Body::copy(to_string(part.status));
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    auto [up, call] = channel.open("hold", {});
    BOOST_TEST((up.write(Body::take(pattern((1 << 20) + 1, 1))) == Status::too_large));
    BOOST_TEST((up.write(Body::take(pattern(50000, 1))) == Status::ok));
    BOOST_TEST((up.write(Body::take(pattern(50001, 1))) == Status::ok));
    const Reply reply = call.get();
    BOOST_TEST((reply.status == Status::too_large), reply.text);
    BOOST_TEST(reply.text == "part 1 of the stream has 50001 bytes, at most 50000 were "
                             "expected (StreamOptions::max_part)");
    BOOST_TEST((held.parts->read().status == Status::too_large));

    auto [down, other] = channel.open("large", {}, {}, {.parts = 4, .max_part = 59999});
    BOOST_TEST((down.read().status == Status::too_large));
    BOOST_TEST((other.get().status == Status::too_large));
    held.parts.reset();
    held.responder.reset();
    BOOST_TEST(channel.call("echo", {}).ok());
    BOOST_TEST(becomes_idle(server.server));
}

BOOST_AUTO_TEST_CASE(calls_and_streams_are_not_mixed_up)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server);
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    Reply reply = channel.call("hold", {});
    BOOST_TEST((reply.status == Status::no_such_method));
    BOOST_TEST(reply.text == "'hold' is a stream: expected Channel::open()");
    StreamCall wrong = channel.open("echo", {});
    reply            = wrong.call.get();
    BOOST_TEST((reply.status == Status::no_such_method));
    BOOST_TEST(reply.text == "'echo' is no stream: expected Channel::call() or start()");
    BOOST_TEST((wrong.parts.read().status == Status::no_such_method));
    BOOST_TEST((wrong.parts.write({}) == Status::no_such_method));
}

BOOST_AUTO_TEST_CASE(wrong_use_is_named)
{
    EchoServer server;
    HeldStream held;
    held.add_to(server.server);
    BOOST_CHECK_THROW(server.server.add_stream_async("x", {}, {.parts = 0}), Error);
    BOOST_CHECK_THROW(server.server.add_stream_async("x", {}, {.parts = 65}), Error);
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    BOOST_CHECK_THROW(channel.open("hold", {}, {}, {.parts = 65}), Error);
    BOOST_CHECK_THROW(channel.open("hold", {}, {}, {.max_part = 0}), Error);
    auto [parts, call] = channel.open("hold", {});
    const auto bytes   = pattern(10, 1);
    BOOST_CHECK_THROW(parts.write(Body::borrow(bytes)), std::logic_error);
    parts.start_read([](Part) {});
    BOOST_CHECK_THROW(parts.read(), std::logic_error);
    BOOST_CHECK_THROW(parts.try_read(), std::logic_error);
    BOOST_CHECK_THROW(parts.start_read(), std::logic_error);
    parts.finish();
    BOOST_CHECK_THROW(parts.write({}), std::logic_error);
    BOOST_REQUIRE(held.entered.wait());
    held.responder->reply({});
    BOOST_TEST(call.get().ok());
}

// Ends of all kinds at all times: everybody hears of it, and nothing is left.
BOOST_AUTO_TEST_CASE(ends_race_with_parts)
{
    EchoServer server;
    server.server.add_stream_task("some", [](Request request, Stream parts) -> Task<Body> {
        const auto few = std::stoul(std::string(request.body().text()));
        for (size_t i = 0; i < few; i++) {
            if (!co_await parts.start_read()) {
                break;
            }
            co_await parts.start_write(numbered(i, 9000));
        }
        co_return Body();
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    for (unsigned i = 0; i < 500; i++) {
        auto [parts, call] = channel.open("some", Body::take(std::to_string(i % 7)));
        for (unsigned k = 0; k < 4; k++) {
            parts.try_write(numbered(k, 9000));
        }
        call.wait_for(std::chrono::microseconds((i % 50) * 10));
        if (i % 2 == 0) {
            call.cancel();
        } else {
            parts.finish();
        }
        uint64_t count = 0;
        Part part;
        while ((part = parts.read())) {
            BOOST_REQUIRE(is_numbered(part.body, count++, 9000));
        }
        const Reply reply = call.get();
        BOOST_REQUIRE((reply.ok() || (reply.status == Status::canceled)));
        BOOST_REQUIRE(((part.status == reply.status) && (part.last == reply.ok())));
    }
    BOOST_TEST(channel.call("echo", {}).ok());
    BOOST_TEST(becomes_idle(server.server));
    BOOST_TEST(pool_becomes_empty());
    BOOST_TEST(runtime.stats().violations == 0u);
    BOOST_TEST(server.runtime.stats().violations == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
