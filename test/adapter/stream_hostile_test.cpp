// SPDX-License-Identifier: BSD-3-Clause
//
// The other side of a stream does not keep to the protocol, or does not know of streams.
#include "raw_client.hpp"
#include "stream_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

#include <arpa/inet.h>

namespace be::test {

namespace {

using adapter::wire::Kind;
namespace wire = adapter::wire;

// A server of a release that has no streams: it has shaken hands, and that is all.
class OldServer {
public:
    OldServer()
    {
        sockaddr_in address{};
        socklen_t length        = sizeof(address);
        address.sin_family      = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        m_listener              = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto *any               = reinterpret_cast<sockaddr *>(&address);
        BOOST_REQUIRE(bind(m_listener, any, length) == 0);
        BOOST_REQUIRE(listen(m_listener, 1) == 0);
        BOOST_REQUIRE(getsockname(m_listener, any, &length) == 0);
        m_address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));

        ucp_worker_params_t params{};
        adapter::require(ucp_worker_create(m_context.handle(), &params, &m_worker),
                         "worker");
        m_thread = std::thread([this] { serve(); });
    }
    ~OldServer()
    {
        m_thread.join();
        close(m_fd);
        close(m_listener);
        ucp_worker_destroy(m_worker);
    }

    const std::string &address() const noexcept
    {
        return m_address;
    }

private:
    void send(const exchange::Message &message)
    {
        const auto bytes = exchange::encode(message);
        ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void skip()
    {
        std::array<std::byte, exchange::head_size> head;
        const char *why = nullptr;
        recv(m_fd, head.data(), head.size(), MSG_WAITALL);
        std::vector<std::byte> rest(exchange::decode_head(head, &why)->rest);
        recv(m_fd, rest.data(), rest.size(), MSG_WAITALL);
    }
    void serve()
    {
        m_fd = accept(m_listener, nullptr, nullptr);
        skip(); // hello
        send({.kind = exchange::Kind::challenge, .features = 0});
        skip(); // join
        ucp_address_t *own = nullptr;
        size_t length      = 0;
        ucp_worker_get_address(m_worker, &own, &length);
        send({.kind        = exchange::Kind::welcome,
              .connection  = 1,
              .incarnation = 1,
              .window      = 1,
              .address     = {reinterpret_cast<std::byte *>(own), length}});
        ucp_worker_release_address(m_worker, own);
        skip(); // goodbye
    }

    adapter::Context m_context;
    ucp_worker_h m_worker = nullptr;
    int m_listener        = -1;
    int m_fd              = -1;
    std::string m_address;
    std::thread m_thread;
};

} // namespace

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(a_server_without_streams_is_named)
{
    OldServer server;
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

    const std::vector<std::pair<const char *, std::function<void(RawClient &)>>> attacks = {
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
    for (const auto &[what, attack] : attacks) {
        BOOST_TEST_CONTEXT(what)
        {
            RawClient client(address);
            attack(client);
            const std::string why = client.wait_until_cut_off();
            BOOST_TEST(why.starts_with("protocol violated"), why);
        }
    }
    BOOST_TEST(server.runtime.stats().violations == attacks.size());
    BOOST_TEST(channel.call("echo", {}).ok());
    for (auto &[stream, responder] : streams) {
        BOOST_TEST((stream.read().status == Status::connection_lost));
    }
    streams.clear();
    calls.clear();
    BOOST_TEST(becomes_idle(server.server));
}

BOOST_AUTO_TEST_CASE(parts_and_credit_for_nothing_are_ignored)
{
    EchoServer server;
    RawClient client(server.start());
    const auto bytes = pattern(100000, 1);
    client.send({.kind = Kind::part, .id = 7, .value = 3}, bytes);
    client.send({.kind = Kind::credit, .id = 7, .value = UINT64_MAX});
    client.send({.kind = Kind::request, .id = 1, .text = "echo"});
    const auto late = std::chrono::steady_clock::now() + patience;
    while ((server.server.stats().requests == 0) &&
           (std::chrono::steady_clock::now() < late)) {
        client.progress();
    }
    BOOST_TEST(server.server.stats().requests == 1u);
    BOOST_TEST(server.runtime.stats().violations == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::test
