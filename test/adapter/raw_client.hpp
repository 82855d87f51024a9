// SPDX-License-Identifier: BSD-3-Clause
//
// A client's connection to a server by hand, with UCP, for what no channel would do.
#pragma once

#include "raw_link.hpp"

#include "adapter/context.hpp"
#include "adapter/wire.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace be::test {

class RawClient {
public:
    explicit RawClient(const std::string &to) : m_link(to)
    {
        ucp_worker_params_t params{};
        adapter::require(ucp_worker_create(m_context.handle(), &params, &m_worker),
                         "worker");
        // answers are dropped; without a handler UCX 1.13 over TCP crashes on them
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                             UCP_AM_HANDLER_PARAM_FIELD_CB;
        handler.id = adapter::wire::active_message;
        handler.cb = [](void *, const void *, size_t, void *, size_t,
                        const ucp_am_recv_param_t *) { return UCS_OK; };
        adapter::require(ucp_worker_set_am_recv_handler(m_worker, &handler), "handler");

        ucp_address_t *own = nullptr;
        size_t length      = 0;
        adapter::require(ucp_worker_get_address(m_worker, &own, &length), "address");
        const std::vector<std::byte> sent(reinterpret_cast<std::byte *>(own),
                                          reinterpret_cast<std::byte *>(own) + length);
        ucp_worker_release_address(m_worker, own);
        BOOST_REQUIRE(m_link.greet());
        const auto welcome = m_link.join(1, sent);
        BOOST_REQUIRE((welcome && (welcome->kind == exchange::Kind::welcome)));
        m_connection = welcome->connection;

        const std::vector<std::byte> address(welcome->address.begin(),
                                             welcome->address.end());
        ucp_ep_params_t ep{};
        ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
        ep.address         = reinterpret_cast<const ucp_address_t *>(address.data());
        ep.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
        ep.err_handler.arg = this;
        ep.err_handler.cb  = [](void *, ucp_ep_h, ucs_status_t) {};
        adapter::require(ucp_ep_create(m_worker, &ep, &m_ep), "endpoint");
    }

    ~RawClient()
    {
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags        = UCP_EP_CLOSE_FLAG_FORCE;
        finish(ucp_ep_close_nbx(m_ep, &param));
        ucp_worker_destroy(m_worker);
    }

    void send(std::span<const std::byte> header, std::span<const std::byte> body = {})
    {
        ucp_request_param_t param{};
        finish(ucp_am_send_nbx(m_ep, adapter::wire::active_message, header.data(),
                               header.size(), body.data(), body.size(), &param));
    }

    void send(adapter::wire::Header header, std::span<const std::byte> body = {})
    {
        header.connection = m_connection;
        std::array<std::byte, adapter::wire::max_size> bytes;
        const size_t size = adapter::wire::encode(header, bytes);
        send(std::span(bytes).first(size), body);
    }

    // What the server says when it cuts the connection.
    std::string wait_until_cut_off()
    {
        const auto late = std::chrono::steady_clock::now() + patience;
        while (!m_link.readable() && (std::chrono::steady_clock::now() < late)) {
            ucp_worker_progress(m_worker);
        }
        return m_link.refusal();
    }

    // As the kernel does when the process dies; UCP notices nothing.
    void cut_link()
    {
        m_link.close();
    }

    void progress()
    {
        ucp_worker_progress(m_worker);
    }

private:
    void finish(void *request)
    {
        if (UCS_PTR_IS_PTR(request)) {
            while (ucp_request_check_status(request) == UCS_INPROGRESS) {
                ucp_worker_progress(m_worker);
            }
            ucp_request_free(request);
        }
    }

    adapter::Context m_context;
    ucp_worker_h m_worker = nullptr;
    ucp_ep_h m_ep         = nullptr;
    RawLink m_link;
    uint64_t m_connection = 0;
};

// What breaks the protocol, by name.
using Attacks = std::vector<std::pair<const char *, std::function<void(RawClient &)>>>;

// The server cuts off each of them, of a client of its own each, and says why.
inline void expect_cut_off(const std::string &address, const Attacks &attacks)
{
    for (const auto &[what, attack] : attacks) {
        BOOST_TEST_CONTEXT(what)
        {
            RawClient client(address);
            attack(client);
            const std::string why = client.wait_until_cut_off();
            BOOST_TEST(why.starts_with("protocol violated"), why);
        }
    }
}

// The server runs a handler; meanwhile the client makes progress.
inline bool serves_a_request(EchoServer &server, RawClient &client)
{
    const auto late = std::chrono::steady_clock::now() + patience;
    while ((server.server.stats().requests == 0) &&
           (std::chrono::steady_clock::now() < late)) {
        client.progress();
    }
    return server.server.stats().requests == 1;
}

} // namespace be::test
