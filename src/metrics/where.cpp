// SPDX-License-Identifier: BSD-3-Clause

#include "metrics/where.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace be::metrics {
namespace {

constexpr unsigned ports_tried = 64; // of "PORT+"

[[noreturn]] void refuse(std::string_view text)
{
    throw std::invalid_argument("'" + std::string(text) +
                                "': expected ADDRESS:PORT, ADDRESS:PORT+ or "
                                "ADDRESS:FIRST-LAST with a numeric "
                                "address (IPv6 in brackets) and ports up to 65535");
}

bool parse_port(std::string_view text, std::uint16_t &port)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                              port);
    return error == std::errc() && end == text.data() + text.size();
}

bool is_v6(const std::string &address)
{
    return address.starts_with('[');
}

// False: that is no address.
bool to_address(const std::string &text, std::uint16_t port, sockaddr_storage &out,
                socklen_t &length)
{
    if (is_v6(text)) {
        auto &v6       = reinterpret_cast<sockaddr_in6 &>(out);
        v6.sin6_family = AF_INET6;
        v6.sin6_port   = htons(port);
        length         = sizeof(v6);
        return text.ends_with(']') &&
               ::inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(),
                           &v6.sin6_addr) == 1;
    }
    auto &v4      = reinterpret_cast<sockaddr_in &>(out);
    v4.sin_family = AF_INET;
    v4.sin_port   = htons(port);
    length        = sizeof(v4);
    return ::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1;
}

} // namespace

Where parse_where(std::string_view text)
{
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        refuse(text);
    }
    Where where;
    where.address          = text.substr(0, colon);
    std::string_view ports = text.substr(colon + 1);
    const bool any_after   = ports.ends_with('+');
    ports.remove_suffix(any_after ? 1 : 0);
    const std::size_t dash = ports.find('-');

    sockaddr_storage address{};
    socklen_t length = 0;
    if (!to_address(where.address, 0, address, length) ||
        !parse_port(ports.substr(0, dash), where.first)) {
        refuse(text);
    }
    where.last = where.first;
    if (any_after) {
        where.last = static_cast<std::uint16_t>(
                std::min<unsigned>(where.first + ports_tried - 1, UINT16_MAX));
    }
    if (dash != std::string_view::npos &&
        (any_after || !parse_port(ports.substr(dash + 1), where.last))) {
        refuse(text);
    }
    if (where.last < where.first || (where.first == 0 && where.last != 0)) {
        refuse(text);
    }
    return where;
}

int try_port(const Where &where, std::uint16_t port) noexcept
{
    sockaddr_storage address{};
    socklen_t length = 0;
    if (!to_address(where.address, port, address, length)) {
        return EINVAL;
    }
    const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    // As the server will: what lingers of connections that have ended is no hindrance.
    const int yes   = 1;
    const int error = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) !=
                                              0 ||
                                      ::bind(fd, reinterpret_cast<sockaddr *>(&address),
                                             length) != 0 ?
                              errno :
                              0;
    ::close(fd);
    return error;
}

} // namespace be::metrics
