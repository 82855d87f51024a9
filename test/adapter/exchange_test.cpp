// SPDX-License-Identifier: BSD-3-Clause
//
// How clients and servers get to know each other, who is let in, and what is noticed when
// one of them ends.
#include "raw_link.hpp"

#include "adapter/exchange/socket.hpp"

#include <boost/test/unit_test.hpp>

namespace be::test {

namespace {

using adapter::exchange::Kind;

const std::string token = "correct horse battery staple";

RuntimeOptions with_token(const std::string &value)
{
    RuntimeOptions options;
    options.token = value;
    return options;
}

Reply call_once(Channel &channel, const std::string &method = "echo")
{
    CallOptions once;
    once.max_attempts = 1;
    return channel.call(method, Body::copy("x"), once);
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(exchanges)

BOOST_AUTO_TEST_CASE(only_who_knows_the_token_is_let_in)
{
    Runtime server_runtime(with_token(token));
    Server server(server_runtime);
    server.add("echo", [](const Request &request) { return request.body(); });
    server.start();
    Runtime same(with_token(token));
    Runtime other(with_token("correct horse battery stable"));
    Runtime none;
    Channel good(same, channel_to({server.address()}));
    Channel wrong(other, channel_to({server.address()}));
    Channel without(none, channel_to({server.address()}));

    BOOST_TEST(call_once(good).ok());
    Reply reply = call_once(wrong);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(contains(reply.text, "the token of the client is not the server's"),
               reply.text);
    reply = call_once(without);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(contains(reply.text, "the server wants a token"), reply.text);
    BOOST_TEST(call_once(good).ok());
    BOOST_TEST(server.stats().accepted == 1u);
}

// Else somebody who took the server's address would get what is meant for it.
BOOST_AUTO_TEST_CASE(a_client_with_a_token_does_not_talk_to_a_server_without)
{
    EchoServer server;
    Runtime runtime(with_token(token));
    Channel channel(runtime, channel_to({server.start()}));
    const Reply reply = call_once(channel);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(contains(reply.text, "the server does not know of any"), reply.text);
}

BOOST_AUTO_TEST_CASE(whoever_breaks_the_exchange_is_cut_off)
{
    EchoServer server;
    Runtime runtime;
    const std::string address = server.start();
    Channel channel(runtime, channel_to({address}));
    BOOST_TEST(call_once(channel).ok());
    const auto noise  = pattern(1000, 1);
    const auto worker = pattern(20, 1);
    const auto hello  = exchange::encode({.kind = Kind::hello});
    auto version      = hello;
    version[4]        = std::byte{99};
    auto kind         = hello;
    kind[5]           = std::byte{9};
    auto huge         = hello;
    huge[6]           = std::byte{0xFF};
    huge[7]           = std::byte{0xFF};
    auto short_one    = hello;
    short_one[6]      = std::byte{3};
    const auto join   = exchange::encode(
              {.kind = Kind::join, .connection = 1, .address = worker});
    const auto no_address   = exchange::encode({.kind = Kind::join, .connection = 1});
    const auto from_servers = exchange::encode({.kind = Kind::challenge});

    const std::vector<std::pair<std::string, std::vector<std::vector<std::byte>>>>
            attacks = {
                    {"no message of this protocol", {noise}},
                    {"another version", {version}},
                    {"unknown kind", {kind}},
                    {"too long a message", {huge}},
                    {"wrong length", {short_one}},
                    {"not due", {join}},
                    {"not due", {hello, hello}},
                    {"not due", {from_servers}},
                    {"no worker address", {hello, no_address}},
            };
    for (const auto &[why, messages] : attacks) {
        BOOST_TEST_CONTEXT(why)
        {
            RawLink link(address);
            std::string refusal;
            for (const auto &message : messages) {
                link.send(message);
                refusal = link.refusal();
            }
            BOOST_TEST(contains(refusal, why), refusal);
            BOOST_TEST(link.at_end());
        }
    }
    BOOST_TEST(call_once(channel).ok());
    BOOST_TEST(server.server.stats().accepted == 1u);
}

BOOST_AUTO_TEST_CASE(silence_is_cut_off_and_half_open_ones_are_limited)
{
    ServerOptions options;
    options.handshake_timeout = 100ms;
    options.max_half_open     = 2;
    EchoServer server(options);
    const std::string address = server.start();
    const auto before         = std::chrono::steady_clock::now();
    RawLink first(address);
    RawLink second(address);
    BOOST_REQUIRE(second.greet());
    // waits until one of them is cut off, and is served then
    Runtime runtime;
    Channel channel(runtime, channel_to({address}));
    const Reply reply = call_once(channel);
    const auto waited = std::chrono::steady_clock::now() - before;
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST((waited >= 95ms));
    for (RawLink *link : {&first, &second}) {
        const std::string refusal = link->refusal();
        BOOST_TEST(contains(refusal, "takes too long"), refusal);
    }
}

// It accepts, as the kernel does for any listening socket, and says nothing.
BOOST_AUTO_TEST_CASE(deadlines_hold_while_a_server_does_not_answer)
{
    const adapter::Address any = adapter::parse_address("127.0.0.1:0", "test");
    const auto silent          = exchange::Socket::listen(any);
    Runtime runtime;
    ChannelOptions options  = channel_to({silent.local_address()});
    options.connect_timeout = 30ms;
    Channel hasty(runtime, options);
    const Reply reply = call_once(hasty);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(contains(reply.text, "no answer within 30 ms"), reply.text);

    options.connect_timeout = 1h;
    Channel patient(runtime, options);
    CallOptions soon;
    soon.timeout     = 30ms;
    const Reply late = patient.call("echo", {}, soon);
    BOOST_TEST((late.status == Status::deadline_exceeded), to_string(late.status));
    BOOST_TEST(contains(late.text, "before the call was sent"), late.text);
    Call canceled = patient.start("echo", {});
    canceled.cancel();
    BOOST_TEST((canceled.get().status == Status::canceled));
}

BOOST_AUTO_TEST_CASE(connections_are_limited)
{
    EchoServer server(ServerOptions{.max_connections = 1});
    Runtime runtime;
    const std::string address = server.start();
    auto first                = std::make_unique<Channel>(runtime, channel_to({address}));
    Channel second(runtime, channel_to({address}));
    BOOST_TEST(call_once(*first).ok());
    const Reply reply = call_once(second);
    BOOST_TEST((reply.status == Status::unreachable), to_string(reply.status));
    BOOST_TEST(contains(reply.text, "max_connections of 1 reached"), reply.text);
    first.reset();
    CallOptions patiently;
    patiently.max_attempts = 1000;
    // The server hears of the end some time later.
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    bool let_in         = false;
    while (!let_in && std::chrono::steady_clock::now() < deadline) {
        let_in = second.call("echo", {}, patiently).ok();
    }
    BOOST_TEST(let_in);
}

// UCP's endpoints of two workers are paired by counting them, so one that only one side has
// made must not shift those that follow. Large bodies need the pair.
BOOST_AUTO_TEST_CASE(exchanges_that_are_broken_off_do_no_harm)
{
    EchoServer server;
    Runtime runtime;
    const std::string address = server.start();
    const auto bytes          = pattern(1 << 20, 1);

    for (unsigned i = 0; i < 200; i++) {
        ChannelOptions options = channel_to({address});
        Channel channel(runtime, options);
        CallOptions hasty;
        hasty.timeout = std::chrono::microseconds(i * 5);
        channel.start("echo", Body::borrow(bytes), hasty).get();
    } // while the exchange may be at any point
    Channel channel(runtime, channel_to({address}));
    for (unsigned i = 0; i < 3; i++) {
        const Reply reply = channel.call("echo", Body::borrow(bytes));
        BOOST_REQUIRE_MESSAGE(reply.ok(), reply.text);
        BOOST_TEST(same(reply.body, bytes));
    }
    BOOST_TEST(channel.stats().connects == 1u);
}

// Both are client and server, of each other, and connect at the same time.
BOOST_AUTO_TEST_CASE(two_that_connect_to_each_other)
{
    const auto bytes = pattern(1 << 20, 1);
    for (unsigned round = 0; round < 20; round++) {
        EchoServer a;
        EchoServer b;
        const std::string at_a = a.start();
        const std::string at_b = b.start();
        Channel to_b(a.runtime, channel_to({at_b}));
        Channel to_a(b.runtime, channel_to({at_a}));
        Call one   = to_b.start("echo", Body::borrow(bytes));
        Call other = to_a.start("echo", Body::borrow(bytes));
        BOOST_TEST(same(one.get().value(), bytes));
        BOOST_TEST(same(other.get().value(), bytes));
    }
}

BOOST_AUTO_TEST_CASE(a_server_may_be_called_on_its_own_worker)
{
    EchoServer server;
    Channel channel(server.runtime, channel_to({server.start()}));
    const auto bytes = pattern(1 << 20, 1);
    BOOST_TEST(call_once(channel).ok());
    BOOST_TEST(same(channel.call("echo", Body::borrow(bytes)).value(), bytes));
}

BOOST_AUTO_TEST_CASE(many_channels_connect_at_once)
{
    constexpr unsigned count = 64;
    EchoServer server({}, 2);
    const std::string address = server.start();
    Runtime runtime(RuntimeOptions{.threads = 2});
    const auto bytes = pattern(100000, 1);
    std::vector<std::unique_ptr<Channel>> channels;
    std::vector<Call> calls;

    for (unsigned i = 0; i < count; i++) {
        channels.push_back(std::make_unique<Channel>(runtime, channel_to({address})));
        calls.push_back(channels.back()->start("echo", Body::borrow(bytes)));
    }
    for (Call &call : calls) {
        BOOST_TEST(same(call.get().value(), bytes));
    }
    BOOST_TEST(server.server.stats().connections == count);
    for (const auto &channel : channels) {
        BOOST_TEST(channel->stats().connects == 1u);
        BOOST_TEST(channel->stats().failures == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
