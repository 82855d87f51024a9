// SPDX-License-Identifier: BSD-3-Clause

#include "raw_socket.hpp"

#include "recorder.hpp"
#include "samples.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace be::control::test {

namespace {

int check(int result, const char *what)
{
    if (result < 0) {
        throw std::system_error(errno, std::system_category(), what);
    }
    return result;
}

sockaddr_in to_sockaddr(const Address &address)
{
    sockaddr_in result{};

    result.sin_family = AF_INET;
    result.sin_port   = htons(address.port);
    std::memcpy(&result.sin_addr, address.ip.data() + 12, 4);
    return result;
}

int open_socket()
{
    return check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
}

bool wait_readable(int fd, std::chrono::milliseconds time)
{
    pollfd poll_fd{fd, POLLIN, 0};
    return check(::poll(&poll_fd, 1, static_cast<int>(time.count())), "poll") > 0;
}

} // namespace

RawSocket::RawSocket(const Address &address, int receive_buffer) : m_fd(open_socket())
{
    if (receive_buffer != 0) {
        check(::setsockopt(m_fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                           sizeof(receive_buffer)),
              "setsockopt");
    }

    auto peer = to_sockaddr(address);
    check(::connect(m_fd, reinterpret_cast<sockaddr *>(&peer), sizeof(peer)), "connect");
}

RawSocket::~RawSocket()
{
    close();
}

RawSocket::RawSocket(RawSocket &&other) noexcept :
    m_fd(std::exchange(other.m_fd, -1)),
    m_reader(std::move(other.m_reader)),
    m_unread(std::move(other.m_unread))
{
}

void RawSocket::close()
{
    if (m_fd >= 0) {
        ::close(std::exchange(m_fd, -1));
    }
}

bool RawSocket::send(std::span<const std::uint8_t> bytes)
{
    while (!bytes.empty()) {
        auto sent = ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

bool RawSocket::send(const Message &message)
{
    return send(encoded(message));
}

bool RawSocket::readable_within(std::chrono::milliseconds time)
{
    return wait_readable(m_fd, time);
}

// False at the end of the stream.
bool RawSocket::read_some()
{
    std::uint8_t bytes[4096];

    if (!readable_within(patience)) {
        throw std::runtime_error("the other side is silent");
    }
    auto count = ::recv(m_fd, bytes, sizeof(bytes), 0);
    if ((count == 0) || ((count < 0) && (errno == ECONNRESET))) {
        return false;
    }
    check(static_cast<int>(count), "recv");
    m_unread.insert(m_unread.end(), bytes, bytes + count);
    return true;
}

std::optional<Message> RawSocket::receive()
{
    m_reader.set_limit(max_frame_with_data);
    for (;;) {
        while (!m_unread.empty()) {
            auto byte = m_unread.front();
            m_unread.pop_front();
            std::span<const std::uint8_t> input(&byte, 1);
            if (m_reader.read(input) == FrameReader::Status::complete) {
                return std::get<Message>(decode(m_reader.frame()));
            }
        }
        if (!read_some()) {
            return std::nullopt;
        }
    }
}

void RawSocket::read_to_end()
{
    while (read_some()) {
    }
}

void RawSocket::authenticate(const Identity &server, std::uint64_t own_id,
                             std::uint64_t features)
{
    Offer own{protocol_major, protocol_minor, features, random_nonce()};
    Transcript transcript{receive_as<Challenge>().offer, own, own_id, server.fabric_id,
                          0};

    send(Hello{own, own_id, server.fabric_id,
               prove(server.token, transcript, Prover::client)});
    auto welcome               = receive_as<Welcome>();
    transcript.agreed_features = welcome.features;
    if (welcome.proof != prove(server.token, transcript, Prover::server)) {
        throw std::runtime_error("the server's proof is wrong");
    }
}

RawListener::RawListener(const char *ip) :
    m_fd(open_socket()), m_address(*Address::parse(ip))
{
    auto own       = to_sockaddr(m_address);
    socklen_t size = sizeof(own);

    check(::bind(m_fd, reinterpret_cast<sockaddr *>(&own), size), "bind");
    check(::listen(m_fd, 16), "listen");
    check(::getsockname(m_fd, reinterpret_cast<sockaddr *>(&own), &size), "getsockname");
    m_address.port = ntohs(own.sin_port);
}

RawListener::~RawListener()
{
    ::close(m_fd);
}

RawSocket RawListener::accept()
{
    if (!wait_readable(m_fd, patience)) {
        throw std::runtime_error("nobody connects");
    }
    return RawSocket(check(::accept(m_fd, nullptr, nullptr), "accept"));
}

} // namespace be::control::test
