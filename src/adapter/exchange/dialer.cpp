// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/dialer.hpp"

#include <cstring>

#include <sys/epoll.h>

namespace be::adapter::exchange {

Dialer::Dialer(std::shared_ptr<Loop> loop, Secret secret, std::uint64_t connection,
               std::vector<std::byte> address) :
    Link(std::move(loop), secret), m_connection(connection), m_address(std::move(address))
{
}

void Dialer::start(const Address &to, Events events)
{
    const auto self = std::static_pointer_cast<Dialer>(shared_from_this());

    m_loop->post([self, to, events = std::move(events)] {
        int error     = 0;
        Socket socket = Socket::connect(to, &error);
        if (socket.open()) {
            self->m_welcome = events.welcome;
            self->begin(std::move(socket), EPOLLOUT, events.down);
        } else {
            events.down(std::strerror(error), false);
        }
    });
}

void Dialer::ask_again(std::uint32_t turn)
{
    const auto self = std::static_pointer_cast<Dialer>(shared_from_this());

    m_loop->post([self, turn] { self->join(turn); });
}

void Dialer::on_writable()
{
    m_client_nonce = Secret::nonce();
    send(encode(
            {.kind = Kind::hello, .features = known_features, .nonce = m_client_nonce}));
}

void Dialer::on_end()
{
    m_welcome = nullptr;
}

void Dialer::join(std::uint32_t turn)
{
    m_stage = Stage::joining;
    send_proven({.kind       = Kind::join,
                 .connection = m_connection,
                 .turn       = turn,
                 .address    = m_address});
}

const char *Dialer::on_challenge(const Message &message)
{
    if (message.token_wanted && !m_secret) {
        return "the server wants a token, and this client has none (BE_TOKEN or "
               "RuntimeOptions::token)";
    }
    if (!message.token_wanted && m_secret) {
        return "this client has a token, and the server does not know of any (BE_TOKEN "
               "or "
               "RuntimeOptions::token)";
    }
    m_server_nonce = message.nonce;
    m_features     = message.features & known_features;
    join(0);
    return nullptr;
}

const char *Dialer::on_message(const Message &message, std::span<const std::byte> rest)
{
    if ((message.kind == Kind::challenge) && (m_stage == Stage::greeted)) {
        return on_challenge(message);
    }
    if ((message.kind != Kind::welcome) || (m_stage != Stage::joining)) {
        return "a message that is not due";
    }
    if (!proves(message, rest)) {
        return "the server does not know the token";
    }
    m_stage = Stage::welcomed;
    m_welcome(message, m_features);
    return nullptr;
}

} // namespace be::adapter::exchange
