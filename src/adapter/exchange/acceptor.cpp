// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/acceptor.hpp"

#include <byteexpress/status.hpp>

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace be::adapter::exchange {

namespace {

// When the process has no descriptors left.
constexpr std::chrono::milliseconds pause{50};

} // namespace

Acceptor::Acceptor(std::shared_ptr<Loop> loop, const Address &address, Service service) :
    m_loop(std::move(loop)),
    m_service(std::make_shared<const Service>(std::move(service))),
    m_socket(Socket::listen(address)),
    m_address(m_socket.local_address()),
    m_pause(*this, [](Timer &timer) {
        static_cast<Pause &>(timer).acceptor.set_listening(true);
    })
{
}

void Acceptor::start()
{
    m_loop->run([this] {
        m_key = m_loop->watch(m_socket.fd(), EPOLLIN, shared_from_this());
    });
    if (m_key == 0) {
        throw Error(Status::closed, "ServerOptions::address '" + m_address +
                                            "': cannot listen: the runtime is closed, or "
                                            "has no room for another socket");
    }
}

void Acceptor::stop()
{
    m_loop->run([this] {
        m_pause.clear();
        m_loop->forget(m_key, m_socket.fd());
        m_socket.close();
    });
    m_socket.close(); // of a loop that has stopped
}

void Acceptor::set_listening(bool listening)
{
    if (m_socket.open()) {
        m_loop->change(m_key, m_socket.fd(), listening ? uint32_t{EPOLLIN} : 0);
    }
}

void Acceptor::one_less()
{
    if (m_half_open-- == m_service->max_half_open) {
        set_listening(true);
    }
}

void Acceptor::on_events(std::uint32_t)
{
    while (m_socket.open()) {
        if (m_half_open >= m_service->max_half_open) {
            set_listening(false);
            return;
        }
        Socket socket(
                accept4(m_socket.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket.open()) {
            m_half_open++;
            std::make_shared<Guest>(m_loop, shared_from_this())->start(std::move(socket));
        } else if ((errno == EMFILE) || (errno == ENFILE) || (errno == ENOBUFS) ||
                   (errno == ENOMEM)) {
            set_listening(false);
            m_loop->timers.add(m_pause, Clock::now() + pause);
            return;
        } else if ((errno != EINTR) && (errno != ECONNABORTED)) {
            return;
        }
    }
}

Guest::Guest(std::shared_ptr<Loop> loop, std::shared_ptr<Acceptor> acceptor) :
    Link(std::move(loop), acceptor->m_service->secret),
    m_acceptor(std::move(acceptor)),
    m_service(m_acceptor->m_service),
    m_deadline(*this, [](Timer &timer) {
        static_cast<Deadline &>(timer).guest.fail(
                "the exchange of addresses takes too long");
    })
{
    m_is_server = true;
}

void Guest::start(Socket socket)
{
    socket.prepare();
    m_loop->timers.add(m_deadline, Clock::now() + m_service->handshake_timeout);
    const std::weak_ptr<Guest> weak = std::static_pointer_cast<Guest>(shared_from_this());
    begin(std::move(socket), EPOLLIN, [weak](const std::string &why, bool in_order) {
        const auto self = weak.lock();
        if (self && self->m_gone) {
            std::exchange(self->m_gone, nullptr)(why, in_order);
        }
    });
}

void Guest::on_end()
{
    m_deadline.clear();
    no_longer_half_open();
}

void Guest::no_longer_half_open()
{
    if (const auto acceptor = std::exchange(m_acceptor, nullptr)) {
        acceptor->one_less();
    }
}

const char *Guest::on_message(const Message &message, std::span<const std::byte> rest)
{
    if ((message.kind == Kind::hello) && (m_stage == Stage::connected)) {
        m_stage        = Stage::challenged;
        m_client_nonce = message.nonce;
        m_server_nonce = Secret::nonce();
        send(encode({.kind         = Kind::challenge,
                     .token_wanted = static_cast<bool>(m_secret),
                     .features     = message.features & known_features,
                     .nonce        = m_server_nonce}));
        return nullptr;
    }
    if ((message.kind != Kind::join) ||
        ((m_stage != Stage::challenged) && (m_stage != Stage::welcomed))) {
        return "a message that is not due";
    }
    if (!proves(message, rest)) {
        return "the token of the client is not the server's (BE_TOKEN or "
               "RuntimeOptions::token)";
    }
    if (++m_joins > max_joins) {
        return "too many attempts to join";
    }
    const bool again = m_stage == Stage::welcomed;
    m_stage          = Stage::joined;
    m_deadline.clear();
    no_longer_half_open();
    m_service->join(std::static_pointer_cast<Guest>(shared_from_this()),
                    {message.connection,
                     message.turn,
                     {message.address.begin(), message.address.end()},
                     again});
    return nullptr;
}

void Guest::welcome(const Message &message, std::vector<std::byte> address)
{
    const auto self = std::static_pointer_cast<Guest>(shared_from_this());

    m_loop->post([self, message, address = std::move(address)] {
        Message all   = message;
        all.address   = address;
        self->m_stage = Stage::welcomed;
        self->send_proven(all);
    });
}

} // namespace be::adapter::exchange
