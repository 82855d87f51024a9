// SPDX-License-Identifier: BSD-3-Clause
//
// A server for one client by hand, for what no server would do, or none of this release.
#pragma once

#include "fixture.hpp"

#include "adapter/context.hpp"
#include "adapter/exchange/message.hpp"
#include "adapter/wire.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace be::test {

namespace exchange = adapter::exchange;

class RawServer {
public:
    // `then` runs on a thread of its own when the first request has come; the client has
    // been told of `features`.
    RawServer(uint32_t features, std::function<void(RawServer &)> then) :
        m_features(features), m_then(std::move(then))
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
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                             UCP_AM_HANDLER_PARAM_FIELD_CB |
                             UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id  = adapter::wire::active_message;
        handler.arg = this;
        handler.cb  = [](void *arg, const void *, size_t, void *, size_t,
                        const ucp_am_recv_param_t *) {
            static_cast<RawServer *>(arg)->m_received++;
            return UCS_OK;
        };
        adapter::require(ucp_worker_set_am_recv_handler(m_worker, &handler), "handler");
        m_thread = std::thread([this] { serve(); });
    }
    ~RawServer()
    {
        m_thread.join();
        ::close(m_fd);
        ::close(m_listener);
        ucp_worker_destroy(m_worker);
    }
    RawServer(const RawServer &)            = delete;
    RawServer &operator=(const RawServer &) = delete;

    const std::string &address() const noexcept
    {
        return m_address;
    }

    // On its thread.
    void send(adapter::wire::Header header, std::span<const std::byte> body = {})
    {
        std::array<std::byte, adapter::wire::max_size> bytes;
        header.connection = m_connection;
        const size_t size = adapter::wire::encode(header, bytes);
        ucp_request_param_t param{};
        finish(ucp_am_send_nbx(m_ep, adapter::wire::active_message, bytes.data(), size,
                               body.data(), body.size(), &param));
    }

private:
    // Nothing at the end.
    std::optional<exchange::Message> receive()
    {
        std::array<std::byte, exchange::head_size> bytes;
        const char *why = nullptr;
        if (recv(m_fd, bytes.data(), bytes.size(), MSG_WAITALL) !=
            static_cast<ssize_t>(bytes.size())) {
            return std::nullopt;
        }
        const auto head = exchange::decode_head(bytes, &why);
        m_in.resize(head ? head->rest : 0);
        recv(m_fd, m_in.data(), m_in.size(), MSG_WAITALL);
        return head ? exchange::decode_rest(head->kind, m_in, &why) : std::nullopt;
    }
    void tell(const exchange::Message &message)
    {
        const auto bytes = exchange::encode(message);
        ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void finish(void *request)
    {
        if (UCS_PTR_IS_PTR(request)) {
            while (ucp_request_check_status(request) == UCS_INPROGRESS) {
                ucp_worker_progress(m_worker);
            }
            ucp_request_free(request);
        }
    }
    // The client has closed the connection, or says something.
    bool is_over() const
    {
        std::byte byte;
        return recv(m_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    }
    void connect(const exchange::Message &join)
    {
        const std::vector<std::byte> address(join.address.begin(), join.address.end());
        ucp_ep_params_t ep{};
        m_connection  = join.connection;
        ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
        ep.address        = reinterpret_cast<const ucp_address_t *>(address.data());
        ep.err_mode       = UCP_ERR_HANDLING_MODE_PEER;
        ep.err_handler.cb = [](void *, ucp_ep_h, ucs_status_t) {};
        adapter::require(ucp_ep_create(m_worker, &ep, &m_ep), "endpoint");
        ucp_address_t *own = nullptr;
        size_t length      = 0;
        adapter::require(ucp_worker_get_address(m_worker, &own, &length), "address");
        tell({.kind        = exchange::Kind::welcome,
              .connection  = 1,
              .incarnation = 1,
              .window      = 4,
              .address     = {reinterpret_cast<std::byte *>(own), length}});
        ucp_worker_release_address(m_worker, own);
    }
    void serve()
    {
        const auto late = std::chrono::steady_clock::now() + patience;
        m_fd            = accept(m_listener, nullptr, nullptr);
        receive(); // hello
        tell({.kind = exchange::Kind::challenge, .features = m_features});
        const auto join = receive();
        if (!join || (join->kind != exchange::Kind::join)) {
            return;
        }
        connect(*join);
        while ((m_received == 0) && !is_over() &&
               (std::chrono::steady_clock::now() < late)) {
            ucp_worker_progress(m_worker);
        }
        if (m_received != 0) {
            m_then(*this);
        }
        while (!is_over() && (std::chrono::steady_clock::now() < late)) {
            ucp_worker_progress(m_worker);
        }
        // UCX 1.13 aborts when it is closed while it is being paired
        ucp_request_param_t param{};
        void *flush = ucp_ep_flush_nbx(m_ep, &param);
        if (UCS_PTR_IS_PTR(flush)) {
            while ((ucp_request_check_status(flush) == UCS_INPROGRESS) &&
                   (std::chrono::steady_clock::now() < late)) {
                ucp_worker_progress(m_worker);
            }
            ucp_request_free(flush);
        }
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags        = UCP_EP_CLOSE_FLAG_FORCE;
        finish(ucp_ep_close_nbx(m_ep, &param));
    }

    const uint32_t m_features;
    const std::function<void(RawServer &)> m_then;
    adapter::Context m_context;
    ucp_worker_h m_worker = nullptr;
    ucp_ep_h m_ep         = nullptr;
    int m_listener        = -1;
    int m_fd              = -1;
    uint64_t m_connection = 0;
    unsigned m_received   = 0; // requests
    std::string m_address;
    std::vector<std::byte> m_in;
    std::thread m_thread;
};

} // namespace be::test
