// SPDX-License-Identifier: BSD-3-Clause
//
// A TCP socket that is non-blocking, closed on exec, and closed in a child after
// fork().

#pragma once

#include "control/address.hpp"
#include "control/asio.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <sys/uio.h>

namespace be::control {

class Socket {
public:
    using Tcp = asio::ip::tcp;

    // Takes over `fd`, which open_tracked() has returned.
    Socket(asio::io_context &context, const Tcp &protocol, int fd);

    // Closes. What has arrived and was not read is discarded first, because a
    // close with unread data would make the kernel drop what was sent last.
    ~Socket();

    Socket(const Socket &)            = delete;
    Socket &operator=(const Socket &) = delete;

    // Creates one. Throws std::system_error.
    static std::unique_ptr<Socket> open(asio::io_context &context, const Tcp &protocol);

    Tcp::socket &stream() noexcept
    {
        return m_stream;
    }

    // Bytes that the kernel has taken; 0 also when the connection has ended, which who
    // waits until it takes more finds out.
    std::size_t write(std::span<const iovec> parts) noexcept;

    // Small messages go out at once.
    void set_no_delay() noexcept;

    // True when the kernel has connected the socket to itself, which it does when
    // the port asked for has no owner and happens to be the one it picks for us.
    bool is_connected_to_itself() noexcept;

    // Ends the outgoing direction: the peer reads to the end, then EOF.
    void shut_down_sending() noexcept;

private:
    Tcp::socket m_stream;
};

Socket::Tcp::endpoint to_endpoint(const Address &address);
Address to_address(const Socket::Tcp::endpoint &endpoint);

} // namespace be::control
