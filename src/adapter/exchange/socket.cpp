// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/socket.hpp"

#include <byteexpress/status.hpp>

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace be::adapter::exchange {

namespace {

Socket open_for(const Address &address) noexcept
{
    return Socket(::socket(address.storage.ss_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

void set(int fd, int level, int option, int value) noexcept
{
    setsockopt(fd, level, option, &value, sizeof(value));
}

} // namespace

void Socket::close() noexcept
{
    if (m_fd >= 0) {
        ::close(std::exchange(m_fd, -1));
    }
}

void Socket::prepare() noexcept
{
    set(m_fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(m_fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(m_fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(m_fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(m_fd, IPPROTO_TCP, TCP_KEEPCNT, 5);
    set(m_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 15000); // milliseconds
}

Socket Socket::listen(const Address &address)
{
    Socket socket = open_for(address);

    if (socket.open()) {
        // a server that restarts gets its port while old connections are still ending
        set(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
        if ((bind(socket.fd(), address.get(), address.length) == 0) &&
            (::listen(socket.fd(), SOMAXCONN) == 0)) {
            return socket;
        }
    }
    throw Error(Status::unreachable, "ServerOptions::address '" +
                                             to_string(address.storage) +
                                             "': cannot listen: " + std::strerror(errno));
}

Socket Socket::connect(const Address &address, int *error) noexcept
{
    Socket socket = open_for(address);

    *error = 0;
    if (!socket.open() || ((::connect(socket.fd(), address.get(), address.length) != 0) &&
                           (errno != EINPROGRESS) && (errno != EINTR))) {
        *error = errno;
        socket.close();
    } else {
        socket.prepare();
    }
    return socket;
}

std::string Socket::local_address() const
{
    sockaddr_storage at{};
    socklen_t length = sizeof(at);

    getsockname(m_fd, reinterpret_cast<sockaddr *>(&at), &length);
    return to_string(at);
}

int Socket::error() const noexcept
{
    int error        = 0;
    socklen_t length = sizeof(error);

    return (getsockopt(m_fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0) ? error : errno;
}

} // namespace be::adapter::exchange
