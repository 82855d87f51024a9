// SPDX-License-Identifier: BSD-3-Clause

#include "control/listener.hpp"

#include "control/logger.hpp"
#include "control/process.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace be::control {

namespace {

// Connections taken in a row before others on the thread get their turn.
constexpr int batch = 32;

// Faults of one connection that ended while it waited, not of the listener.
bool concerns_one_connection(int error)
{
    switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENONET:
    case EOPNOTSUPP:
    case ENOPROTOOPT:
        return true;
    default:
        return false;
    }
}

// 0 or an errno value.
int try_listen(Socket &socket, const Address &address)
{
    auto endpoint = to_endpoint(address);
    int fd        = socket.stream().native_handle();

    if ((::bind(fd, endpoint.data(), endpoint.size()) != 0) ||
        (::listen(fd, SOMAXCONN) != 0)) {
        return errno;
    }
    return 0;
}

} // namespace

Listener::Seat::Seat(std::shared_ptr<Listener> listener, const Address &peer) :
    m_listener(std::move(listener)), m_peer(peer)
{
    ++m_listener->m_half_open;
    LiveCounters::add(m_listener->m_counters.half_open);
}

Listener::Seat::~Seat()
{
    if (m_established) {
        --m_listener->m_established;
    } else {
        leave_door();
    }
}

void Listener::Seat::leave_door() noexcept
{
    --m_listener->m_half_open;
    LiveCounters::subtract(m_listener->m_counters.half_open);
    m_listener->wait();
}

bool Listener::Seat::establish()
{
    if (m_listener->m_established >= m_listener->m_options.max_connections) {
        return false;
    }

    m_established = true;
    ++m_listener->m_established;
    leave_door();
    return true;
}

void Listener::Seat::judge(bool proof_is_good)
{
    if (proof_is_good) {
        m_listener->m_failures.succeeded(m_peer.ip);
    } else {
        m_listener->m_failures.failed(m_peer.ip, std::chrono::steady_clock::now());
    }
}

Listener::Listener(asio::io_context &context, LiveCounters &counters, const Address &ip,
                   const ListenOptions &options, OnAccept on_accept) :
    m_context(context),
    m_counters(counters),
    m_options(options),
    m_on_accept(std::move(on_accept)),
    m_address(ip),
    m_timer(context),
    m_failures(options.failure_burst, options.failure_refill)
{
    auto range = std::to_string(options.first_port) + "-" +
                 std::to_string(options.last_port);

    if (options.first_port > options.last_port) {
        throw std::invalid_argument("control channel: port range " + range +
                                    " is empty, expected first <= last");
    }
    if (int error = listen(); error != 0) {
        throw std::system_error(error, std::system_category(),
                                "control channel: cannot listen on " + ip.ip_string() +
                                        " port " + range);
    }

    ErrorCode error;
    m_address = to_address(m_socket->stream().local_endpoint(error));
    if (error) {
        throw std::system_error(error, "control channel: listening socket on " +
                                               ip.ip_string() + " has no address");
    }
}

Listener::~Listener() = default;

// Tries the ports of the range. A port given by number may still have
// connections of the previous process in TIME_WAIT: SO_REUSEADDR ignores those, and
// listen() still finds out when somebody else listens there.
int Listener::listen()
{
    for (unsigned port = m_options.first_port; port <= m_options.last_port; ++port) {
        m_address.port = static_cast<std::uint16_t>(port);
        m_socket       = Socket::open(m_context, to_endpoint(m_address).protocol());
        if (port != 0) {
            m_socket->stream().set_option(Socket::Tcp::socket::reuse_address(true));
        }

        int error = try_listen(*m_socket, m_address);
        if (error != EADDRINUSE) {
            return error;
        }
    }

    return EADDRINUSE;
}

void Listener::start()
{
    wait();
}

void Listener::stop() noexcept
{
    m_socket.reset();
    ErrorCode ignored;
    m_timer.cancel(ignored);
}

void Listener::wait() noexcept
{
    if (!m_socket || m_waiting || (m_half_open >= m_options.max_half_open)) {
        return;
    }

    try {
        m_socket->stream().async_wait(Socket::Tcp::socket::wait_read,
                                      [self = shared_from_this()](const ErrorCode &) {
                                          self->m_waiting = false;
                                          self->accept_waiting();
                                      });
        m_waiting = true;
    } catch (const std::exception &error) {
        log(Level::error,
            "no longer accepts on " + m_address.to_string() + ": " + error.what());
    }
}

void Listener::accept_waiting() noexcept
{
    // A connection that cannot be set up for want of memory ends alone.
    try {
        for (int i = 0; (i < batch) && m_socket && !m_waiting &&
                        (m_half_open < m_options.max_half_open);
             ++i) {
            if (!accept_one()) {
                break;
            }
        }
    } catch (const std::exception &error) {
        LiveCounters::add(m_counters.accept_errors);
        log_limited(Level::warning, "cannot take a connection on " +
                                            m_address.to_string() + ": " + error.what());
    }

    wait();
}

// False when there is none, or when it is time to rest.
bool Listener::accept_one()
{
    Socket::Tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    int fd    = open_tracked([&] {
        return ::accept4(m_socket->stream().native_handle(), peer.data(), &size,
                            SOCK_NONBLOCK | SOCK_CLOEXEC);
    });

    if (fd < 0) {
        int error = errno;
        if ((error == EAGAIN) || (error == EWOULDBLOCK)) {
            return false;
        }
        LiveCounters::add(m_counters.accept_errors);
        if (concerns_one_connection(error)) {
            return true;
        }
        rest_after(error);
        return false;
    }

    auto socket = std::make_unique<Socket>(m_context, peer.protocol(), fd);
    auto source = to_address(peer);
    LiveCounters::add(m_counters.accepted);
    if (!m_failures.admits(source.ip, std::chrono::steady_clock::now())) {
        LiveCounters::add(m_counters.throttled);
        log_limited(Level::warning, "connection from " + source.to_string() +
                                            " closed: its address has failed to "
                                            "authenticate too often");
        return true;
    }

    m_on_accept(std::move(socket), source,
                std::make_unique<Seat>(shared_from_this(), source));
    return true;
}

void Listener::rest_after(int error)
{
    log_limited(Level::warning, "cannot accept connections on " + m_address.to_string() +
                                        ": " + std::system_category().message(error) +
                                        "; trying again in " +
                                        std::to_string(rest.count()) + " ms");
    m_waiting = true;
    m_timer.expires_after(rest);
    m_timer.async_wait([self = shared_from_this()](const ErrorCode &) {
        self->m_waiting = false;
        self->wait();
    });
}

} // namespace be::control
