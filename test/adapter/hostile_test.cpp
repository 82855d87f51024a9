// SPDX-License-Identifier: BSD-3-Clause
//
// A client that has joined, and then does not keep to the protocol: it loses its
// connection, others notice nothing.
#include "raw_client.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

namespace be::test {

using adapter::wire::Kind;

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(whoever_breaks_the_protocol_is_cut_off)
{
    EchoServer server;
    std::vector<Responder> held;
    server.server.add_async("hold", [&](Request, Responder responder) {
        held.push_back(std::move(responder)); // on the only thread
    });
    Runtime runtime;
    const std::string address = server.start();
    Channel channel(runtime, channel_to({address}));
    BOOST_TEST(channel.call("echo", Body::copy("before")).ok());
    const std::string long_name(300, 'n');

    const Attacks attacks = {
            {"a server's message",
             [&](RawClient &c) { c.send({.kind = Kind::response, .id = 1}); }},
            {"no name", [&](RawClient &c) { c.send({.kind = Kind::request, .id = 1}); }},
            {"long name",
             [&](RawClient &c) {
                 c.send({.kind = Kind::request, .id = 1, .text = long_name});
             }},
            {"same number twice",
             [&](RawClient &c) {
                 c.send({.kind = Kind::request, .id = 1, .text = "hold"});
                 c.send({.kind = Kind::request, .id = 1, .text = "hold"});
             }},
    };
    expect_cut_off(address, attacks);
    BOOST_TEST(server.runtime.stats().violations == attacks.size());
    BOOST_TEST(channel.call("echo", Body::copy("after")).ok());
    BOOST_TEST(channel.stats().connects == 1u);
}

// UCP does not tell who has sent them, so nobody is cut off.
BOOST_AUTO_TEST_CASE(what_belongs_to_no_connection_is_dropped)
{
    EchoServer server;
    RawClient client(server.start());
    const auto noise = pattern(100, 1);
    std::array<std::byte, adapter::wire::max_size> bytes;
    const size_t size = adapter::wire::encode(
            {.kind = Kind::request, .connection = 77, .id = 1, .text = "echo"}, bytes);

    client.send(std::span(noise));
    client.send(std::span<const std::byte>());
    client.send(std::span(bytes).first(size)); // of a connection that nobody has
    client.send({.kind = Kind::request, .id = 1, .text = "echo"});
    BOOST_TEST(serves_a_request(server, client));
    BOOST_TEST(server.runtime.stats().violations == 2u);
    BOOST_TEST(server.server.stats().connections == 1u);
}

BOOST_AUTO_TEST_CASE(a_cancel_for_nothing_is_ignored)
{
    EchoServer server;
    Runtime runtime;
    const std::string address = server.start();
    RawClient client(address);
    client.send({.kind = Kind::cancel, .id = 77});
    client.send({.kind  = Kind::request,
                 .id    = UINT64_MAX,
                 .value = UINT64_MAX,
                 .text  = "echo"});
    Channel channel(runtime, channel_to({address}));
    while (server.server.stats().requests == 0) {
        BOOST_REQUIRE(channel.call("nothing", {}).status == Status::no_such_method);
    }
    BOOST_TEST(server.runtime.stats().violations == 0u);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_tcp_connection_is_the_end_of_the_client)
{
    EchoServer server;
    Event held;
    std::optional<std::pair<Request, Responder>> request;
    server.server.add_async("hold", [&](Request what, Responder responder) {
        request.emplace(std::move(what), std::move(responder));
        held.set();
    });
    RawClient client(server.start());
    client.send({.kind = Kind::request, .id = 1, .text = "hold"});
    BOOST_REQUIRE(held.wait());
    BOOST_TEST(!request->first.canceled());
    client.cut_link();
    const auto late = std::chrono::steady_clock::now() + patience;
    while (!request->first.canceled() && (std::chrono::steady_clock::now() < late)) {
        client.progress();
    }
    BOOST_TEST(request->first.canceled());
    request.reset();
    BOOST_TEST(becomes_idle(server.server));
    BOOST_TEST(server.runtime.stats().failures == 1u);
}

BOOST_AUTO_TEST_CASE(a_client_that_goes_away_leaves_nothing_behind)
{
    EchoServer server;
    std::vector<std::pair<Request, Responder>> held;
    std::mutex mutex;
    server.server.add_async("hold", [&](Request request, Responder responder) {
        std::lock_guard lock(mutex);
        held.emplace_back(std::move(request), std::move(responder));
    });
    const std::string address = server.start();
    const auto bytes          = pattern(1000000, 1);
    {
        RawClient client(address);
        for (uint64_t i = 1; i <= 5; i++) {
            client.send({.kind = Kind::request, .id = i, .text = "hold"}, bytes);
        }
    }
    Runtime runtime;
    Channel channel(runtime, channel_to({address}));
    do {
        BOOST_REQUIRE(channel.call("echo", {}).ok());
    } while (server.server.stats().connections != 1);
    std::unique_lock lock(mutex);
    for (auto &[request, responder] : held) {
        BOOST_TEST(request.canceled());
        responder.reply(Body::copy("for nobody"));
    }
    held.clear();
    lock.unlock();
    BOOST_TEST(channel.call("echo", {}).ok());
    BOOST_TEST(becomes_idle(server.server));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
