// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/link.hpp"

#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace be::adapter::exchange {

Link::Link(std::shared_ptr<Loop> loop, Secret secret) :
    m_loop(std::move(loop)), m_secret(secret), m_in(head_size)
{
}

void Link::begin(Socket socket, std::uint32_t events, Down down)
{
    m_socket = std::move(socket);
    m_down   = std::move(down);
    m_key    = m_loop->watch(m_socket.fd(), events, shared_from_this());
    if (m_key == 0) {
        this->down("the control thread has no room for another socket", false);
    }
}

void Link::close(std::string text)
{
    m_loop->post([self = shared_from_this(), text = std::move(text)] {
        if (self->m_socket.open()) {
            self->m_down = nullptr;
            self->send(encode({.kind = Kind::goodbye, .text = text}));
            self->end();
        }
        self->m_down = nullptr; // also of one that has not begun yet
    });
}

void Link::end() noexcept
{
    if (m_socket.open()) {
        const auto keep = shared_from_this();
        m_loop->forget(m_key, m_socket.fd());
        // the goodbye gets through although there is something unread
        shutdown(m_socket.fd(), SHUT_WR);
        m_socket.close();
        on_end();
    }
}

void Link::down(const std::string &why, bool in_order)
{
    const auto keep = shared_from_this();
    end();
    if (const Down tell = std::exchange(m_down, nullptr)) {
        tell(why, in_order);
    }
}

void Link::fail(const std::string &why)
{
    const auto keep = shared_from_this();
    const Down tell = std::exchange(m_down, nullptr);
    send(encode({.kind = Kind::goodbye, .text = why}));
    end();
    if (tell) {
        tell(why, false);
    }
}

void Link::send(const std::vector<std::byte> &bytes)
{
    if (!m_socket.open()) {
        return;
    }
    const ssize_t sent = ::send(m_socket.fd(), bytes.data(), bytes.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(bytes.size())) {
        down((sent < 0) ? std::string("cannot send to the other side: ") +
                                  std::strerror(errno) :
                          "the other side does not read what it is sent",
             false);
    }
}

void Link::send_proven(const Message &message)
{
    std::vector<std::byte> bytes = encode(message);
    if (bytes.empty()) {
        fail("a worker address of " + std::to_string(message.address.size()) +
             " bytes, which does not fit into a message of " + std::to_string(max_rest));
        return;
    }
    set_proof(bytes,
              m_secret.prove(m_is_server ? Secret::Role::server : Secret::Role::client,
                             m_client_nonce, m_server_nonce,
                             proven(std::span(bytes).subspan(head_size))));
    send(bytes);
}

bool Link::proves(const Message &message, std::span<const std::byte> rest) const noexcept
{
    const auto role = m_is_server ? Secret::Role::client : Secret::Role::server;
    return Secret::same(message.proof, m_secret.prove(role, m_client_nonce,
                                                      m_server_nonce, proven(rest)));
}

void Link::on_events(std::uint32_t events)
{
    const auto keep = shared_from_this();

    if ((events & EPOLLOUT) != 0) {
        const int error = m_socket.error();
        if (error != 0) {
            down(std::strerror(error), false);
            return;
        }
        m_loop->change(m_key, m_socket.fd(), EPOLLIN);
        on_writable();
    }
    while (m_socket.open() && read_some()) {
    }
}

// False when there is no more to read now.
bool Link::read_some()
{
    const ssize_t n = recv(m_socket.fd(), m_in.data() + m_have, m_in.size() - m_have, 0);
    if (n == 0) {
        down("the other side is gone: its connection ended without a goodbye", false);
        return false;
    }
    if (n < 0) {
        if ((errno != EAGAIN) && (errno != EINTR)) {
            down(std::string("the other side is gone: ") + std::strerror(errno), false);
        }
        return errno == EINTR;
    }
    m_have += static_cast<std::size_t>(n);
    if (m_have == m_in.size()) {
        if (const char *why = take()) {
            fail(std::string("exchange of addresses: ") + why);
        }
    }
    return true;
}

// A head or a whole message is there.
const char *Link::take()
{
    const char *why = nullptr;

    if (!m_head_known) {
        const auto head = decode_head(std::span<const std::byte>(m_in).first<head_size>(),
                                      &why);
        if (!head) {
            return why;
        }
        m_head = *head;
        if (m_head.rest != 0) {
            m_head_known = true;
            m_in.resize(head_size + m_head.rest);
            return nullptr;
        }
    }
    const std::vector<std::byte> bytes = std::exchange(m_in,
                                                       std::vector<std::byte>(head_size));
    m_head_known                       = false;
    m_have                             = 0;
    const std::span rest = std::span<const std::byte>(bytes).subspan(head_size);
    const auto message   = decode_rest(m_head.kind, rest, &why);
    if (!message) {
        return why;
    }
    if (message->kind == Kind::goodbye) {
        std::string text = "closed by the other side";
        if (!message->text.empty()) {
            text += ": " + std::string(message->text);
        }
        down(text, message->text.empty());
        return nullptr;
    }
    return on_message(*message, rest);
}

} // namespace be::adapter::exchange
