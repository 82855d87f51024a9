// SPDX-License-Identifier: BSD-3-Clause
#include "channel.hpp"

#include <cerrno>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace be::test {

namespace {
/* Room for any worker address and packed key. */
constexpr std::size_t MAX_MESSAGE = 64 * 1024;
} // namespace

std::pair<Channel, Channel> Channel::pair()
{
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    return {Channel(fds[0]), Channel(fds[1])};
}

Channel::Channel(Channel &&other) noexcept : m_fd(std::exchange(other.m_fd, -1))
{
}

Channel::~Channel()
{
    if (m_fd >= 0) {
        ::close(m_fd);
    }
}

void Channel::send(const std::string &message) const
{
    if (::send(m_fd, message.data(), message.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(message.size())) {
        throw std::system_error(errno, std::generic_category(),
                                "the other process does not listen");
    }
}

std::optional<std::string> Channel::try_receive() const
{
    std::vector<char> buffer(MAX_MESSAGE);
    const ssize_t length = ::recv(m_fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (length > 0) {
        return std::string(buffer.data(), static_cast<std::size_t>(length));
    }
    if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        throw std::runtime_error("the other process is gone");
    }
    return std::nullopt;
}

std::string Channel::receive(double seconds) const
{
    pollfd entry{m_fd, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(seconds * 1000)) <= 0) {
        throw std::runtime_error("the other process says nothing for " +
                                 std::to_string(static_cast<int>(seconds)) + " s");
    }
    if (auto message = try_receive()) {
        return *message;
    }
    throw std::runtime_error("interrupted");
}

} // namespace be::test
