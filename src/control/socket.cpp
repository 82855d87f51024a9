// SPDX-License-Identifier: BSD-3-Clause

#include "control/socket.hpp"

#include "control/process.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace be::control {

namespace {

// More than a connection's receive buffer normally holds; only a bound.
constexpr int max_discarded_reads = 256;

void discard_input(int fd) noexcept
{
    char bytes[4096];

    for (int i = 0; i < max_discarded_reads; ++i) {
        if (::recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) {
            return;
        }
    }
}

} // namespace

Socket::Socket(asio::io_context &context, const Tcp &protocol, int fd) : m_stream(context)
{
    ErrorCode error;

    m_stream.assign(protocol, fd, error);
    if (error) {
        close_tracked(fd, [fd] { ::close(fd); });
        throw std::system_error(error, "control channel: cannot watch a socket");
    }
}

Socket::~Socket()
{
    int fd = m_stream.native_handle();

    discard_input(fd);
    close_tracked(fd, [this] {
        ErrorCode ignored;
        m_stream.close(ignored);
    });
}

std::unique_ptr<Socket> Socket::open(asio::io_context &context, const Tcp &protocol)
{
    int fd = open_tracked([&] {
        return ::socket(protocol.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    });
    if (fd < 0) {
        throw std::system_error(errno, std::system_category(),
                                "control channel: cannot create a socket");
    }

    return std::make_unique<Socket>(context, protocol, fd);
}

std::size_t Socket::write(std::span<const iovec> parts) noexcept
{
    msghdr message{};
    message.msg_iov    = const_cast<iovec *>(parts.data());
    message.msg_iovlen = parts.size();
    const auto written = ::sendmsg(m_stream.native_handle(), &message,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
    return static_cast<std::size_t>(std::max<ssize_t>(written, 0));
}

void Socket::set_no_delay() noexcept
{
    ErrorCode ignored; // without it the connection is slower, not wrong
    m_stream.set_option(Tcp::no_delay(true), ignored);
}

bool Socket::is_connected_to_itself() noexcept
{
    ErrorCode error;
    return m_stream.local_endpoint(error) == m_stream.remote_endpoint(error);
}

void Socket::shut_down_sending() noexcept
{
    ErrorCode ignored; // the peer may have ended the connection already
    m_stream.shutdown(Tcp::socket::shutdown_send, ignored);
}

Socket::Tcp::endpoint to_endpoint(const Address &address)
{
    if (address.is_v4()) {
        asio::ip::address_v4::bytes_type bytes;
        std::memcpy(bytes.data(), address.ip.data() + address.ip.size() - bytes.size(),
                    bytes.size());
        return {asio::ip::address_v4(bytes), address.port};
    }

    return {asio::ip::address_v6(address.ip), address.port};
}

Address to_address(const Socket::Tcp::endpoint &endpoint)
{
    auto ip = endpoint.address();
    auto v6 = ip.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, ip.to_v4()) :
                           ip.to_v6();

    Address address;
    auto bytes = v6.to_bytes();
    std::memcpy(address.ip.data(), bytes.data(), bytes.size());
    address.port = endpoint.port();
    return address;
}

} // namespace be::control
