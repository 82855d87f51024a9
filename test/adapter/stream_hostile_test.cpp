// SPDX-License-Identifier: BSD-3-Clause
//
// The other side of a stream does not keep to the protocol, or does not know of streams.
#include "raw_client.hpp"
#include "raw_server.hpp"
#include "stream_fixture.hpp"

#include <boost/test/unit_test.hpp>


namespace be::test {

namespace {

using adapter::wire::Kind;
namespace wire = adapter::wire;

// That of a channel's first request.
constexpr uint64_t first = uint64_t{1} << 32;

} // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(a_server_without_streams_is_named)
{
    RawServer server(0, [](RawServer &) {});
    Runtime runtime;
    Channel channel(runtime, channel_to({server.address()}));
    auto [parts, call] = channel.open("count", {});
    const Reply reply  = call.get();
    BOOST_TEST((reply.status == Status::no_such_method), to_string(reply.status));
    BOOST_TEST(reply.text ==
               server.address() + ": a server of a version that has no streams");
    BOOST_TEST((parts.write({}) == Status::no_such_method));
}

BOOST_AUTO_TEST_CASE(whoever_breaks_the_protocol_of_streams_is_cut_off)
{
    EchoServer server;
    std::vector<std::pair<Stream, Responder>> streams; // on the only thread
    std::vector<Responder> calls;
    server.server.add_stream_async("stream",
                                   [&](Request, Stream parts, Responder responder) {
                                       streams.emplace_back(std::move(parts),
                                                            std::move(responder));
                                   },
                                   {.parts = 4, .max_part = 1000});
    server.server.add_async("hold", [&](Request, Responder responder) {
        calls.push_back(std::move(responder));
    });
    Runtime runtime;
    const std::string address = server.start();
    Channel channel(runtime, channel_to({address}));
    const auto bytes = pattern(10, 1);

    const auto request = [](RawClient &c, uint32_t parts) {
        c.send({.kind  = Kind::request,
                .flags = wire::flag_stream,
                .id    = 1,
                .code  = parts,
                .text  = "stream"});
    };
    // The handler has the stream: its credit is given.
    const auto open = [&](RawClient &c) {
        const uint64_t before = server.server.stats().requests;
        request(c, 4);
        const auto late = std::chrono::steady_clock::now() + patience;
        while ((server.server.stats().requests == before) &&
               (std::chrono::steady_clock::now() < late)) {
            c.progress();
        }
        BOOST_REQUIRE(channel.call("echo", {}).ok()); // that handler has returned
    };
    const auto part = [&](RawClient &c, uint64_t number, uint8_t flags = 0) {
        c.send({.kind = Kind::part, .flags = flags, .id = 1, .value = number},
               (flags == 0) ? std::span<const std::byte>(bytes) :
                              std::span<const std::byte>());
    };

    const Attacks attacks = {
            {"takes no parts", [&](RawClient &c) { request(c, 0); }},
            {"takes too many parts", [&](RawClient &c) { request(c, 65); }},
            {"a part without credit",
             [&](RawClient &c) {
                 open(c);
                 part(c, 4);
             }},
            {"a part twice",
             [&](RawClient &c) {
                 open(c);
                 part(c, 1);
                 part(c, 1);
             }},
            {"the largest number",
             [&](RawClient &c) {
                 open(c);
                 part(c, UINT64_MAX);
             }},
            {"an end with a body",
             [&](RawClient &c) {
                 open(c);
                 c.send({.kind = Kind::part, .flags = wire::flag_last, .id = 1}, bytes);
             }},
            {"more parts than it may send",
             [&](RawClient &c) {
                 open(c);
                 part(c, 5, wire::flag_last);
             }},
            {"fewer parts than it has sent",
             [&](RawClient &c) {
                 open(c);
                 part(c, 0);
                 part(c, 1);
                 part(c, 1, wire::flag_last);
             }},
            {"a part behind the last",
             [&](RawClient &c) {
                 open(c);
                 part(c, 1, wire::flag_last);
                 part(c, 1);
             }},
            {"two ends",
             [&](RawClient &c) {
                 open(c);
                 part(c, 1, wire::flag_last);
                 part(c, 2, wire::flag_last);
             }},
            {"credit of none",
             [&](RawClient &c) {
                 open(c);
                 c.send({.kind = Kind::credit, .id = 1, .value = 0});
             }},
            {"credit without end",
             [&](RawClient &c) {
                 open(c);
                 c.send({.kind = Kind::credit, .id = 1, .value = UINT64_MAX});
             }},
            {"a part for a call",
             [&](RawClient &c) {
                 c.send({.kind = Kind::request, .id = 1, .text = "hold"});
                 part(c, 0);
             }},
    };
    expect_cut_off(address, attacks);
    BOOST_TEST(server.runtime.stats().violations == attacks.size());
    BOOST_TEST(channel.call("echo", {}).ok());
    for (auto &[stream, responder] : streams) {
        BOOST_TEST((stream.read().status == Status::connection_lost));
    }
    streams.clear();
    calls.clear();
    BOOST_TEST(becomes_idle(server.server));
}

BOOST_AUTO_TEST_CASE(a_server_that_breaks_the_protocol_of_streams_is_left)
{
    const auto bytes  = pattern(10, 1);
    const auto credit = [](RawServer &s, uint64_t parts) {
        s.send({.kind = Kind::credit, .id = first, .value = parts});
    };
    const auto part = [&](RawServer &s, uint64_t number) {
        s.send({.kind = Kind::part, .id = first, .value = number}, bytes);
    };
    const auto answer = [](RawServer &s, uint64_t parts) {
        s.send({.kind = Kind::response, .id = first, .value = parts});
    };
    const std::vector<std::pair<const char *, std::function<void(RawServer &)>>> attacks =
            {
                    {"credit of none", [&](RawServer &s) { credit(s, 0); }},
                    {"credit without end", [&](RawServer &s) { credit(s, UINT64_MAX); }},
                    {"a part without credit", [&](RawServer &s) { part(s, 4); }},
                    {"an answer with more parts than credit",
                     [&](RawServer &s) { answer(s, 5); }},
                    {"an answer with fewer parts than have come",
                     [&](RawServer &s) {
                         part(s, 1);
                         answer(s, 1);
                     }},
                    {"two answers",
                     [&](RawServer &s) {
                         answer(s, 1);
                         answer(s, 1);
                     }},
                    {"an end, and another one in the answer",
                     [&](RawServer &s) {
                         s.send({.kind  = Kind::part,
                                 .flags = wire::flag_last,
                                 .id    = first,
                                 .value = 1});
                         answer(s, 2);
                     }},
            };
    for (const auto &[what, attack] : attacks) {
        BOOST_TEST_CONTEXT(what)
        {
            RawServer server(exchange::feature_streams, attack);
            Runtime runtime;
            Channel channel(runtime, channel_to({server.address()}));
            auto [parts, call] = channel.open("any", {}, {}, {.parts = 4});
            const Reply reply  = call.get();
            BOOST_TEST((reply.status == Status::connection_lost), reply.text);
            BOOST_TEST(reply.text.find("protocol violated") != std::string::npos,
                       reply.text);
            BOOST_TEST(runtime.stats().violations == 1u);
        }
    }
}

// The answer overtakes a part, as UCP may have it.
BOOST_AUTO_TEST_CASE(parts_behind_the_answer_are_waited_for)
{
    const auto bytes = pattern(10, 1);
    RawServer server(exchange::feature_streams, [&](RawServer &s) {
        s.send({.kind = Kind::part, .id = first, .value = 1}, bytes);
        s.send({.kind = Kind::response, .id = first, .value = 2}, bytes);
        s.send({.kind = Kind::part, .id = first, .value = 0}, bytes);
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.address()}));
    auto [parts, call] = channel.open("any", {});
    BOOST_TEST(same(call.get().value(), bytes));
    BOOST_TEST(same(parts.read().body, bytes));
    BOOST_TEST(same(parts.read().body, bytes));
    BOOST_TEST(parts.read().last);
}

// What was begun is not begun again, whatever the server says; what was refused is.
BOOST_AUTO_TEST_CASE(a_refusal_after_credit_is_the_end)
{
    RawServer server(exchange::feature_streams, [&](RawServer &s) {
        s.send({.kind = Kind::credit, .id = first, .value = 1});
        s.send({.kind = Kind::response, .status = Status::overloaded, .id = first});
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.address()}));
    auto [parts, call] = channel.open("any", {});
    const Reply reply  = call.get();
    BOOST_TEST((reply.status == Status::overloaded));
    BOOST_TEST(reply.attempts == 1u);
    BOOST_TEST((parts.read().status == Status::overloaded));
}

BOOST_AUTO_TEST_CASE(a_stream_that_was_refused_is_tried_again)
{
    EchoServer server(ServerOptions{.max_requests = 1});
    HeldStream held;
    held.add_to(server.server);
    std::optional<Responder> responder;
    Event busy;
    server.server.add_async("hold call", [&](Request, Responder its) {
        responder.emplace(std::move(its));
        busy.set();
    });
    Runtime runtime;
    Channel channel(runtime, channel_to({server.start()}));
    Call call = channel.start("hold call", {});
    BOOST_REQUIRE(busy.wait());
    CallOptions patient;
    patient.max_attempts = 1000;
    auto [parts, stream] = channel.open("hold", {}, patient);
    const auto late      = std::chrono::steady_clock::now() + patience;
    while ((server.server.stats().overloaded == 0) &&
           (std::chrono::steady_clock::now() < late)) {
        std::this_thread::yield();
    }
    responder->reply({});
    BOOST_TEST(call.get().ok());
    BOOST_TEST((parts.write(Body::copy("x")) == Status::ok));
    BOOST_REQUIRE(held.entered.wait());
    BOOST_TEST(held.parts->read().body.text() == "x");
    held.responder->reply({});
    const Reply reply = stream.get();
    BOOST_TEST(reply.ok(), reply.text);
    BOOST_TEST(reply.attempts > 1u);
}

BOOST_AUTO_TEST_CASE(parts_and_credit_for_nothing_are_ignored)
{
    EchoServer server;
    RawClient client(server.start());
    const auto bytes = pattern(100000, 1);
    client.send({.kind = Kind::part, .id = 7, .value = 3}, bytes);
    client.send({.kind = Kind::credit, .id = 7, .value = UINT64_MAX});
    client.send({.kind = Kind::request, .id = 1, .text = "echo"});
    BOOST_TEST(serves_a_request(server, client));
    BOOST_TEST(server.runtime.stats().violations == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
