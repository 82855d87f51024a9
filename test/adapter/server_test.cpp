// SPDX-License-Identifier: BSD-3-Clause
//
// What a server does with calls: kinds of handlers, admission, deadlines, draining.
#include "fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace be::test {

namespace {

// Holds every request of "hold" until it is let go.
struct Holder {
    void add_to(Server &server)
    {
        server.add_async("hold", [this](Request request, Responder responder) {
            std::lock_guard lock(mutex);
            held.emplace_back(std::move(request), std::move(responder));
            condition.notify_all();
        });
    }
    bool wait_for(size_t count)
    {
        std::unique_lock lock(mutex);
        return condition.wait_for(lock, patience, [&] { return held.size() >= count; });
    }
    void release()
    {
        std::vector<std::pair<Request, Responder>> all;
        {
            std::lock_guard lock(mutex);
            all.swap(held);
        }
        for (auto &[request, responder] : all) {
            responder.reply(request.body());
        }
    }

    std::mutex mutex;
    std::condition_variable condition;
    std::vector<std::pair<Request, Responder>> held;
};

// A call whose handler runs and does not answer.
struct HeldCall {
    HeldCall()
    {
        BOOST_REQUIRE(holder.wait_for(1));
    }

    EchoServer server;
    Holder holder;
    Runtime runtime;
    Channel channel{runtime, channel_to({begin()})};
    Call call = channel.start("hold", {});

private:
    std::string begin()
    {
        holder.add_to(server.server);
        return server.start();
    }
};

Task<Body> relay(Channel &channel, Request request)
{
    Reply reply = co_await channel.start("echo", request.body());
    co_return reply.value();
}

Task<Body> fail_later(Channel &channel, Request request)
{
    co_await channel.start("echo", request.body());
    throw std::runtime_error("no luck");
}

} // namespace

BOOST_AUTO_TEST_SUITE(servers)

BOOST_AUTO_TEST_CASE(a_handler_may_fail_throw_or_forget_to_answer)
{
    EchoServer server;
    server.server.add("throw", [](const Request &) -> Body {
        throw std::runtime_error("bad thing");
    });
    server.server.add("throw int", [](const Request &) -> Body { throw 1; });
    server.server.add_async("fail", [](Request, Responder responder) {
        responder.fail("my reason", 42);
    });
    server.server.add_async("forget", [](Request, Responder) {});
    server.server.add_async("throw async", [](Request, Responder) {
        throw std::runtime_error("bad thing");
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    Reply reply = channel.call("throw", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    BOOST_TEST(reply.text == "bad thing");
    BOOST_TEST(reply.attempts == 1u);
    reply = channel.call("throw int", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    reply = channel.call("fail", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    BOOST_TEST(reply.text == "my reason");
    BOOST_TEST(reply.code == 42u);
    reply = channel.call("forget", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    BOOST_TEST(reply.text == "the handler ended without an answer");
    reply = channel.call("throw async", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    reply = channel.call("nonsense", {});
    BOOST_TEST((reply.status == Status::no_such_method));
    BOOST_TEST(reply.text == "no method 'nonsense'");
    BOOST_CHECK_THROW(reply.value(), Error);
    BOOST_TEST(channel.call("echo", {}).ok());
}

BOOST_AUTO_TEST_CASE(a_handler_may_be_a_coroutine_or_call_another_server)
{
    EchoServer back;
    EchoServer front;
    Channel inner(front.runtime, channel_to({back.start()}));
    front.server.add_task("relay", [&](Request request) {
        return relay(inner, std::move(request));
    });
    front.server.add_task("fail later", [&](Request request) {
        return fail_later(inner, std::move(request));
    });
    front.server.add("blocking", [&](const Request &request) {
        return inner.call("echo", request.body()).value();
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({front.start()}));

    for (const char *method : {"relay", "blocking"}) {
        const auto bytes  = pattern(100000, 3);
        const Reply reply = channel.call(method, Body::borrow(bytes));
        BOOST_TEST(reply.ok(), reply.text);
        BOOST_TEST(same(reply.body, bytes));
    }
    const Reply reply = channel.call("fail later", {});
    BOOST_TEST((reply.status == Status::handler_failed));
    BOOST_TEST(reply.text == "no luck");
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_from_another_thread_and_in_any_order)
{
    EchoServer server;
    Holder holder;
    holder.add_to(server.server);
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    std::vector<Call> calls;

    for (unsigned i = 0; i < 50; i++) {
        calls.push_back(channel.start("hold", Body::take(std::to_string(i))));
    }
    BOOST_TEST(holder.wait_for(50));
    std::reverse(holder.held.begin(), holder.held.end());
    std::thread([&] { holder.release(); }).join();
    for (unsigned i = 0; i < 50; i++) {
        BOOST_TEST(calls[i].get().value().text() == std::to_string(i));
    }
}

BOOST_AUTO_TEST_CASE(admission_is_limited_for_all_and_for_one)
{
    EchoServer server(ServerOptions{.max_requests = 3, .max_requests_per_connection = 2});
    Holder holder;
    holder.add_to(server.server);
    Runtime runtime;
    const std::string address = server.start();
    Channel one(runtime, channel_to({address}));
    Channel two(runtime, channel_to({address}));
    CallOptions once;
    once.max_attempts = 1;

    Call a = one.start("hold", {});
    Call b = one.start("hold", {});
    Call c = two.start("hold", {});
    BOOST_TEST(holder.wait_for(3));
    // a channel keeps to what one connection may have: its third call waits ...
    Call d = one.start("echo", Body::copy("waits"));
    // ... and the server refuses what all together may not have
    const Reply reply = two.call("echo", {}, once);
    BOOST_TEST((reply.status == Status::overloaded));
    BOOST_TEST(reply.text == "max_requests of 3 reached");
    BOOST_TEST(!d.ready());
    BOOST_TEST(server.server.stats().overloaded == 1u);
    BOOST_TEST(server.server.stats().active == 3u);

    holder.release();
    BOOST_TEST(a.get().ok());
    BOOST_TEST(b.get().ok());
    BOOST_TEST(c.get().ok());
    BOOST_TEST(d.get().value().text() == "waits");
    BOOST_TEST(two.call("echo", {}, once).ok());
}

BOOST_AUTO_TEST_CASE(an_overloaded_server_is_tried_again)
{
    EchoServer server(ServerOptions{.max_requests = 1});
    Holder holder;
    holder.add_to(server.server);
    Runtime runtime;
    const std::string address = server.start();
    Channel one(runtime, channel_to({address}));
    Channel two(runtime, channel_to({address}));
    Call held = one.start("hold", {});
    BOOST_TEST(holder.wait_for(1));

    CallOptions options;
    options.max_attempts = 1000;
    Call call            = two.start("echo", {}, options);
    while (server.server.stats().overloaded == 0) {
        BOOST_REQUIRE(!call.wait_for(1ms));
    }
    holder.release();
    const Reply reply = call.get();
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST(reply.attempts > 1u);
    BOOST_TEST(held.get().ok());
}

BOOST_AUTO_TEST_CASE(waiting_for_ever_ends_with_the_call)
{
    HeldCall one;
    std::thread other([&] { one.holder.release(); });
    BOOST_TEST(one.call.wait_for(no_deadline));
    BOOST_TEST(one.call.get().ok());
    other.join();
}

BOOST_AUTO_TEST_CASE(a_full_queue_of_the_channel_is_an_answer)
{
    EchoServer server;
    Holder holder;
    holder.add_to(server.server);
    Runtime runtime;
    ChannelOptions options = channel_to({server.start()});
    options.max_in_flight  = 1;
    options.max_queued     = 2;
    Channel channel(runtime, options);
    Call a = channel.start("hold", {});
    BOOST_TEST(holder.wait_for(1));
    Call b            = channel.start("echo", {});
    Call c            = channel.start("echo", {});
    const Reply reply = channel.call("echo", {});
    BOOST_TEST((reply.status == Status::would_block));
    BOOST_TEST(channel.stats().queued == 2u);
    BOOST_TEST(channel.stats().in_flight == 1u);
    holder.release();
    BOOST_TEST((a.get().ok() && b.get().ok() && c.get().ok()));
}

BOOST_AUTO_TEST_CASE(latency_goes_ahead_of_bulk)
{
    EchoServer server;
    Holder holder;
    holder.add_to(server.server);
    Runtime runtime;
    ChannelOptions options = channel_to({server.start()});
    options.max_in_flight  = 2;
    Channel channel(runtime, options);
    CallOptions bulk;
    bulk.priority = Priority::bulk;
    std::vector<std::string> order;
    std::mutex mutex;
    Event done;
    const auto note = [&](const char *what) {
        return [&, what](Reply) {
            std::lock_guard lock(mutex);
            order.emplace_back(what);
            if (order.size() == 3) {
                done.set();
            }
        };
    };

    // one place is kept for latency, so the second bulk call waits
    Call held = channel.start("hold", {}, bulk);
    BOOST_TEST(holder.wait_for(1));
    channel.start("echo", {}, bulk, note("bulk"));
    channel.start("echo", {}, {}, note("latency"));
    channel.start("echo", {}, {}, note("latency"));
    while (channel.stats().queued > 1) {
        BOOST_REQUIRE(!held.wait_for(1ms));
    }
    while (channel.stats().in_flight > 1) {
        BOOST_REQUIRE(!held.wait_for(1ms));
    }
    holder.release();
    BOOST_TEST(held.get().ok());
    BOOST_TEST(done.wait());
    BOOST_TEST((order == std::vector<std::string>{"latency", "latency", "bulk"}));
}

BOOST_AUTO_TEST_CASE(too_large_a_body_is_refused_unread)
{
    EchoServer server(ServerOptions{.max_body = 100000});
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    const auto bytes  = pattern(100001, 1);
    const Reply reply = channel.call("echo", Body::borrow(bytes));
    BOOST_TEST((reply.status == Status::too_large));
    BOOST_TEST(reply.text == "a body of 100001 bytes; the server takes at most 100000");
    BOOST_TEST(channel.call("echo", Body::borrow(std::span(bytes).first(100000))).ok());
    BOOST_TEST(server.server.stats().requests == 1u);
}

BOOST_AUTO_TEST_CASE(draining_answers_what_was_begun_and_sends_others_elsewhere)
{
    EchoServer first;
    EchoServer second;
    Holder holder;
    holder.add_to(first.server);
    Runtime runtime;
    Channel channel(runtime, channel_to({first.start(), second.start()}));
    Call held = channel.start("hold", Body::copy("begun"));
    BOOST_TEST(holder.wait_for(1));

    bool in_time = false;
    std::thread drain([&] { in_time = first.server.drain(10s); });
    Reply reply;
    do {
        reply = channel.call("echo", {});
        BOOST_REQUIRE_MESSAGE(reply.ok(), reply.text);
    } while (reply.incarnation != second.server.incarnation());
    BOOST_TEST(!held.ready());
    holder.release();
    drain.join();
    BOOST_TEST(in_time);
    reply = held.get();
    BOOST_TEST(reply.value().text() == "begun");
    BOOST_TEST(reply.incarnation == first.server.incarnation());
    BOOST_TEST(first.server.stats().connections == 0u);
    BOOST_TEST(becomes_idle(first.server));
}

BOOST_AUTO_TEST_CASE(draining_ends_in_time_although_a_handler_does_not)
{
    HeldCall one;
    BOOST_TEST(!one.server.server.drain(50ms));
    const Reply reply = one.call.get();
    BOOST_TEST((reply.status == Status::connection_lost), to_string(reply.status));
    BOOST_TEST(one.holder.held.front().first.canceled());
    one.holder.release(); // too late, and harmless
}

BOOST_AUTO_TEST_CASE(wrong_settings_are_named)
{
    Runtime runtime;
    const auto says = [](const std::string &part) {
        return [part](const Error &error) {
            return std::string(error.what()).find(part) != std::string::npos;
        };
    };
    BOOST_CHECK_EXCEPTION(Runtime(RuntimeOptions{.threads = 0}), Error,
                          says("threads 0"));
    BOOST_CHECK_EXCEPTION(Server(runtime, ServerOptions{.max_requests = 0}), Error,
                          says("max_requests 0"));
    BOOST_CHECK_EXCEPTION(Channel(runtime, {}), Error, says("addresses is empty"));
    for (const char *bad : {"", "localhost:1", "127.0.0.1", "127.0.0.1:",
                            "127.0.0.1:65536", "127.0.0.1:1x", "::1:5", "[::1:5"}) {
        BOOST_CHECK_EXCEPTION(Channel(runtime, channel_to({bad})), Error,
                              says("'" + std::string(bad) + "'"));
        Server server(runtime, ServerOptions{.address = bad});
        BOOST_CHECK_EXCEPTION(server.start(), Error, says("'" + std::string(bad) + "'"));
    }
    Server server(runtime);
    server.add("x", [](const Request &) { return Body(); });
    BOOST_CHECK_EXCEPTION(server.add("x", [](const Request &) { return Body(); }), Error,
                          says("'x'"));
    BOOST_CHECK_EXCEPTION(server.add("", [](const Request &) { return Body(); }), Error,
                          says("1 to 255"));
    server.start();
    BOOST_CHECK_EXCEPTION(server.add("y", [](const Request &) { return Body(); }), Error,
                          says("before"));
    Server taken(runtime, ServerOptions{.address = server.address()});
    BOOST_CHECK_EXCEPTION(taken.start(), Error, says(server.address()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
