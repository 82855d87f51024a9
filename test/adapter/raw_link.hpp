// SPDX-License-Identifier: BSD-3-Clause
//
// A client's TCP connection to a server by hand, for what no channel would do. Blocking.
#pragma once

#include "fixture.hpp"

#include "adapter/address.hpp"
#include "adapter/exchange/message.hpp"
#include "adapter/exchange/secret.hpp"

#include <optional>

#include <sys/socket.h>
#include <unistd.h>

namespace be::test {

namespace exchange = adapter::exchange;

class RawLink {
public:
    explicit RawLink(const std::string &to)
    {
        const adapter::Address address = adapter::parse_address(to, "test");
        const timeval limit            = {std::chrono::seconds(patience).count(), 0};
        m_fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(m_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(m_fd, address.get(), address.length) != 0) {
            throw std::runtime_error("cannot connect to " + to);
        }
    }
    ~RawLink()
    {
        close();
    }
    RawLink(const RawLink &)            = delete;
    RawLink &operator=(const RawLink &) = delete;

    void close()
    {
        if (m_fd >= 0) {
            ::close(std::exchange(m_fd, -1));
        }
    }

    void send(std::span<const std::byte> bytes)
    {
        // the server may have closed already: what it says then is the test
        ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }

    // Nothing at the end, or when nothing comes.
    std::optional<exchange::Message> receive()
    {
        const char *why = nullptr;
        if (!read(exchange::head_size)) {
            return std::nullopt;
        }
        const auto head = exchange::decode_head(
                std::span<const std::byte>(m_in).first<exchange::head_size>(), &why);
        if (!head || !read(head->rest)) {
            return std::nullopt;
        }
        return exchange::decode_rest(head->kind, m_in, &why);
    }

    // The text of the goodbye that comes next.
    std::string refusal()
    {
        const auto message = receive();
        return (message && (message->kind == exchange::Kind::goodbye)) ?
                       std::string(message->text) :
                       "no goodbye";
    }

    // The server's nonce, once it has answered to hello.
    std::optional<exchange::Message> greet()
    {
        send(exchange::encode({.kind = exchange::Kind::hello, .nonce = m_nonce}));
        return receive();
    }

    // As a client that keeps to the rules; without a token.
    std::optional<exchange::Message>
    join(uint64_t connection, std::span<const std::byte> address, uint32_t turn = 0)
    {
        send(exchange::encode({.kind       = exchange::Kind::join,
                               .connection = connection,
                               .turn       = turn,
                               .address    = address}));
        return receive();
    }

    // The server has closed its end.
    bool at_end()
    {
        std::byte byte;
        return recv(m_fd, &byte, 1, 0) == 0;
    }
    // Something has come, or the end.
    bool readable() const
    {
        std::byte byte;
        return recv(m_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    }

private:
    bool read(size_t size)
    {
        m_in.resize(size);
        return (size == 0) ||
               (recv(m_fd, m_in.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size));
    }

    int m_fd                = -1;
    exchange::Nonce m_nonce = {};
    std::vector<std::byte> m_in;
};

} // namespace be::test
