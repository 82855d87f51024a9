// SPDX-License-Identifier: BSD-3-Clause
#include "attack.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace be::test {

namespace {

using Clock = std::chrono::steady_clock;

/* A port may take that long to give up on a silent or slow stranger. */
constexpr std::chrono::seconds PATIENCE{15};
/* The first message of a polite server comes at once, if it comes. */
constexpr int GREETING_MS = 300;

class Connection {
public:
    explicit Connection(const Listening &target) :
        m_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family      = AF_INET;
        address.sin_port        = htons(target.port);
        address.sin_addr.s_addr = htonl(target.address);
        if (m_fd < 0 || ::connect(m_fd, reinterpret_cast<const sockaddr *>(&address),
                                  sizeof(address)) != 0) {
            throw std::system_error(errno, std::generic_category(),
                                    "connection to port " + std::to_string(target.port));
        }
        ::fcntl(m_fd, F_SETFL, O_NONBLOCK);
    }
    Connection(Connection &&other) noexcept : m_fd(std::exchange(other.m_fd, -1))
    {
    }
    Connection &operator=(Connection &&) = delete;
    ~Connection()
    {
        if (m_fd >= 0) {
            ::close(m_fd);
        }
    }

    /* What fits; a closed connection swallows it. */
    void send(const std::string &bytes) const
    {
        (void)!::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /* What the server says first, "" when it waits for us. */
    std::string greeting() const
    {
        pollfd entry{m_fd, POLLIN, 0};
        char buffer[4096];
        if (::poll(&entry, 1, GREETING_MS) <= 0) {
            return {};
        }
        const ssize_t length = ::recv(m_fd, buffer, sizeof(buffer), 0);
        return (length > 0) ? std::string(buffer, static_cast<std::size_t>(length)) :
                              std::string();
    }
    void end_of_data() const
    {
        ::shutdown(m_fd, SHUT_WR);
    }
    /* Leaves by a reset instead of a proper end. */
    void reset()
    {
        const linger at_once{1, 0};
        ::setsockopt(m_fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        ::close(std::exchange(m_fd, -1));
    }
    bool is_closed() const
    {
        char buffer[4096];
        for (;;) {
            const ssize_t length = ::recv(m_fd, buffer, sizeof(buffer), 0);
            if (length <= 0) {
                return length == 0 || errno != EAGAIN;
            }
        }
    }
    int fd() const
    {
        return m_fd;
    }

private:
    int m_fd;
};

/* Waits until the other side has closed all of them; how many it has not. */
unsigned left_open(const std::vector<Connection> &connections)
{
    const auto end = Clock::now() + PATIENCE;
    std::vector<pollfd> entries;
    for (const Connection &connection : connections) {
        entries.push_back({connection.fd(), POLLIN, 0});
    }
    for (std::size_t i = 0; i < connections.size();) {
        if (connections[i].is_closed()) {
            ++i;
            continue;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - Clock::now());
        if (left.count() <= 0) {
            return static_cast<unsigned>(
                    std::count_if(connections.begin(), connections.end(),
                                  [](const Connection &c) { return !c.is_closed(); }));
        }
        ::poll(&entries[i], 1, static_cast<int>(left.count()));
    }
    return 0;
}

std::mt19937 &generator()
{
    static std::mt19937 engine(20240229); /* the same bytes in every run */
    return engine;
}

std::string random_bytes(std::size_t length)
{
    std::string bytes(length, '\0');
    std::generate(bytes.begin(), bytes.end(),
                  [] { return static_cast<char>(generator()()); });
    return bytes;
}

/* A frame's 32-bit little-endian length. */
std::string length_prefix(std::uint32_t length)
{
    std::string bytes;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes.push_back(static_cast<char>(length >> shift));
    }
    return bytes;
}

unsigned garbage(const Listening &target)
{
    std::vector<Connection> connections;
    for (unsigned i = 0; i < 100; ++i) {
        connections.emplace_back(target);
        connections.back().send(random_bytes(1 + generator()() % 4096));
        connections.back().end_of_data();
    }
    return left_open(connections);
}

/* Lengths that no message has, with and without some of the promised bytes. */
unsigned oversized(const Listening &target)
{
    std::vector<Connection> connections;
    for (const std::uint32_t length :
         {0xffffffffu, 0x80000000u, 0x7fffffffu, 64u << 20, 1u << 20, 65537u, 0u}) {
        connections.emplace_back(target);
        connections.back().send(length_prefix(length));
        connections.emplace_back(target);
        connections.back().send(length_prefix(length) + random_bytes(100000));
    }
    return left_open(connections);
}

/* The connection ends in the middle of a message. */
unsigned truncated(const Listening &target)
{
    std::vector<Connection> connections;
    for (std::uint32_t length = 1; length < 200; length += 7) {
        connections.emplace_back(target);
        connections.back().send(length_prefix(200) + random_bytes(length));
        connections.back().end_of_data();
        Connection abrupt(target);
        abrupt.send(length_prefix(200) + random_bytes(length));
        abrupt.reset();
    }
    return left_open(connections);
}

/* The server's own words back to it: as they are, and with one bit changed. */
unsigned reflected(const Listening &target)
{
    std::vector<Connection> connections;
    for (unsigned i = 0; i < 40; ++i) {
        connections.emplace_back(target);
        std::string words = connections.back().greeting();
        if (words.empty()) {
            words = random_bytes(64);
        } else if (i != 0) {
            words[generator()() % words.size()] ^= static_cast<char>(1u << (i % 8));
        }
        connections.back().send(words);
        connections.back().end_of_data();
    }
    return left_open(connections);
}

/* A byte now and then, never a whole message. */
unsigned slow(const Listening &target)
{
    std::vector<Connection> connections;
    for (unsigned i = 0; i < 20; ++i) {
        connections.emplace_back(target);
        connections.back().send(length_prefix(100));
    }
    const auto end = Clock::now() + PATIENCE;
    unsigned open  = 1;
    while (open != 0 && Clock::now() < end) {
        ::poll(nullptr, 0, 100); /* the pace of the attack */
        open = 0;
        for (const Connection &connection : connections) {
            if (!connection.is_closed()) {
                connection.send("x");
                ++open;
            }
        }
    }
    return open;
}

/* Three hundred strangers who say nothing. */
unsigned crowd(const Listening &target)
{
    std::vector<Connection> connections;
    for (unsigned i = 0; i < 300; ++i) {
        connections.emplace_back(target);
    }
    return left_open(connections);
}

constexpr Attack ATTACKS[] = {
        {"garbage", garbage},     {"oversized", oversized}, {"truncated", truncated},
        {"reflected", reflected}, {"slow", slow},           {"crowd", crowd},
};

} // namespace

std::span<const Attack> attacks()
{
    return ATTACKS;
}

} // namespace be::test
