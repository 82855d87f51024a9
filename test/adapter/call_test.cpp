// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that succeed, in all their forms.
#include "fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace be::test {

BOOST_AUTO_TEST_SUITE(calls)

BOOST_AUTO_TEST_CASE(an_empty_and_a_small_body_come_back)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    Reply reply = channel.call("echo", {});
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST(reply.body.empty());
    BOOST_TEST(reply.incarnation == server.server.incarnation());
    BOOST_TEST(reply.attempts == 1u);

    reply = channel.call("echo", Body::copy("hello"));
    BOOST_TEST(reply.value().text() == "hello");
}

BOOST_AUTO_TEST_CASE(bodies_of_every_size_are_intact)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    for (size_t size : {1ul, 2ul, 63ul, 1000ul, 1024ul, 1025ul, 4096ul, 8000ul, 8192ul,
                        8193ul, 65535ul, 65536ul, 262145ul, 1048576ul, 33554433ul}) {
        BOOST_TEST_CONTEXT(size << " bytes")
        {
            const auto bytes  = pattern(size, static_cast<unsigned>(size));
            const Reply reply = channel.call("echo", Body::borrow(bytes));
            BOOST_TEST(reply.ok(), reply.text);
            BOOST_TEST(same(reply.body, bytes));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_body_of_256_mebibytes)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    const auto bytes = pattern(256 << 20, 1);
    std::vector<std::byte> to(bytes.size());
    CallOptions options;
    options.timeout   = patience;
    options.response  = to;
    const Reply reply = channel.call("echo", Body::borrow(bytes), options);
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST(same(reply.body, bytes));
}

BOOST_AUTO_TEST_CASE(a_body_in_many_pieces_arrives_in_one)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    for (size_t piece : {1ul, 100ul, 5000ul, 70000ul}) {
        Body body;
        std::vector<std::byte> all;
        for (unsigned i = 0; i < 64; i++) {
            auto bytes = pattern(piece + i, i);
            all.insert(all.end(), bytes.begin(), bytes.end());
            body.append(Body::take(std::move(bytes)));
        }
        BOOST_TEST(body.parts().size() == 64u);
        const Reply reply = channel.call("echo", body);
        BOOST_TEST(reply.ok(), reply.text);
        BOOST_TEST(same(reply.body, all));
    }
}

BOOST_AUTO_TEST_CASE(a_response_lands_in_the_callers_memory)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    for (size_t size : {0ul, 10ul, 5000ul, 1000000ul}) {
        const auto bytes = pattern(size, 7);
        std::vector<std::byte> to(size + 1, std::byte{0xee});
        CallOptions options;
        options.response  = to;
        const Reply reply = channel.call("echo", Body::borrow(bytes), options);
        BOOST_TEST(reply.ok(), reply.text);
        BOOST_TEST(same(reply.body, bytes));
        if (size != 0) {
            BOOST_TEST(static_cast<const void *>(reply.body.bytes().data()) == to.data());
        }
        BOOST_TEST((to.back() == std::byte{0xee}));
    }
}

BOOST_AUTO_TEST_CASE(a_response_that_does_not_fit_is_refused_and_touches_nothing)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));

    for (size_t size : {10ul, 5000ul, 1000000ul}) {
        const auto bytes = pattern(size, 7);
        std::vector<std::byte> to(size, std::byte{0xee});
        CallOptions options;
        options.response  = std::span(to).first(size - 1);
        const Reply reply = channel.call("echo", Body::borrow(bytes), options);
        BOOST_TEST((reply.status == Status::too_large), to_string(reply.status));
        BOOST_TEST(reply.body.empty());
        BOOST_TEST((to == std::vector<std::byte>(size, std::byte{0xee})));
    }
    BOOST_TEST(channel.call("echo", Body::copy("still well")).ok());
}

BOOST_AUTO_TEST_CASE(futures_may_be_taken_in_any_order)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    std::vector<Call> calls;

    for (unsigned i = 0; i < 500; i++) {
        calls.push_back(channel.start("echo", Body::take(std::to_string(i))));
    }
    for (unsigned i = 500; i-- > 0;) {
        BOOST_TEST(calls[i].get().value().text() == std::to_string(i));
    }
}

BOOST_AUTO_TEST_CASE(callbacks_run_once_each)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    std::atomic<unsigned> good = 0;
    std::atomic<unsigned> runs = 0;
    Event done;

    for (unsigned i = 0; i < 500; i++) {
        channel.start("echo", Body::take(std::to_string(i)), {}, [&, i](Reply reply) {
            good += reply.ok() && (reply.body.text() == std::to_string(i));
            if (++runs == 500) {
                done.set();
            }
        });
    }
    BOOST_TEST(done.wait());
    BOOST_TEST(good == 500u);
}

// Recursion by callbacks: a stack frame for each would overflow.
BOOST_AUTO_TEST_CASE(a_callback_may_start_the_next_call)
{
    Runtime runtime;
    ChannelOptions options = channel_to({"127.0.0.1:1"});
    options.max_queued     = 0; // each call ends at once
    Channel channel(runtime, options);
    unsigned left = 100000;
    Event done;
    std::function<void(Reply)> next = [&](Reply reply) {
        BOOST_REQUIRE((reply.status == Status::would_block));
        if (--left == 0) {
            done.set();
        } else {
            channel.start("echo", {}, {}, next);
        }
    };

    channel.start("echo", {}, {}, next);
    BOOST_TEST(done.wait());
}

namespace {

Task<int> sum_up(Channel &channel, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        const Reply reply = co_await channel.start("echo", Body::take(std::to_string(i)));
        sum += std::stoi(std::string(reply.value().text()));
    }
    co_return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_coroutine_awaits_calls)
{
    EchoServer server;
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    Event done;
    int sum = 0;

    sum_up(channel, 1000).on_done([&](std::optional<int> value, std::exception_ptr) {
        sum = value.value_or(-1);
        done.set();
    });
    BOOST_TEST(done.wait());
    BOOST_TEST(sum == 499500);
}

BOOST_AUTO_TEST_CASE(many_channels_and_threads_at_once)
{
    constexpr unsigned threads = 8;
    constexpr unsigned each    = 8; // channels of a thread: 64 altogether
    EchoServer server({}, 2);
    Runtime runtime(RuntimeOptions{.threads = 2});
    const std::string address  = server.start();
    std::atomic<unsigned> good = 0;
    std::vector<std::thread> all;

    for (unsigned t = 0; t < threads; t++) {
        all.emplace_back([&, t] {
            std::vector<std::unique_ptr<Channel>> channels;
            for (unsigned c = 0; c < each; c++) {
                channels.push_back(
                        std::make_unique<Channel>(runtime, channel_to({address})));
            }
            for (unsigned i = 0; i < 20 * each; i++) {
                const auto bytes  = pattern(1 + (i * 7919) % 40000, i + t);
                const Reply reply = channels[i % each]->call("echo", Body::borrow(bytes));
                good += reply.ok() && same(reply.body, bytes);
            }
        });
    }
    for (std::thread &thread : all) {
        thread.join();
    }
    BOOST_TEST(good == threads * each * 20);
    BOOST_TEST(server.server.stats().accepted == threads * each);
}

BOOST_AUTO_TEST_CASE(server_and_client_share_a_runtime)
{
    Runtime runtime;
    Server server(runtime);
    server.add("echo", [](const Request &request) { return request.body(); });
    server.start();
    Channel channel(runtime, channel_to({server.address()}));

    for (size_t size : {0ul, 100ul, 100000ul}) {
        const auto bytes  = pattern(size, 1);
        const Reply reply = channel.call("echo", Body::borrow(bytes));
        BOOST_TEST(reply.ok(), reply.text);
        BOOST_TEST(same(reply.body, bytes));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
