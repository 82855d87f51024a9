// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/address.hpp"

#include <byteexpress/status.hpp>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace be::adapter {

namespace {

std::optional<uint16_t> parse_port(std::string_view text)
{
    uint16_t port           = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                              port);
    if ((error != std::errc()) || (end != text.data() + text.size())) {
        return std::nullopt;
    }
    return port;
}

bool fill(Address &address, std::string host, bool v6, uint16_t port)
{
    if (v6) {
        auto *in        = reinterpret_cast<sockaddr_in6 *>(&address.storage);
        in->sin6_family = AF_INET6;
        in->sin6_port   = htons(port);
        address.length  = sizeof(*in);
        return inet_pton(AF_INET6, host.c_str(), &in->sin6_addr) == 1;
    }
    auto *in       = reinterpret_cast<sockaddr_in *>(&address.storage);
    in->sin_family = AF_INET;
    in->sin_port   = htons(port);
    address.length = sizeof(*in);
    return inet_pton(AF_INET, host.c_str(), &in->sin_addr) == 1;
}

} // namespace

Address parse_address(const std::string &text, const char *what)
{
    Address address;
    const size_t colon = text.rfind(':');

    if (colon != std::string::npos) {
        std::string host = text.substr(0, colon);
        const auto port  = parse_port(std::string_view(text).substr(colon + 1));
        const bool v6    = (host.size() > 2) && (host.front() == '[') &&
                        (host.back() == ']');
        if (v6) {
            host = host.substr(1, host.size() - 2);
        }
        if (port && fill(address, host, v6, *port)) {
            return address;
        }
    }
    throw Error(Status::unreachable, std::string(what) + " '" + text +
                                             "': expected a numeric address and a port, "
                                             "as 10.0.0.1:7000 or [::1]:7000");
}

std::string to_string(const sockaddr_storage &address)
{
    char host[INET6_ADDRSTRLEN] = "";

    if (address.ss_family == AF_INET6) {
        const auto &in = reinterpret_cast<const sockaddr_in6 &>(address);
        inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof(host));
        return "[" + std::string(host) + "]:" + std::to_string(ntohs(in.sin6_port));
    }
    const auto &in = reinterpret_cast<const sockaddr_in &>(address);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
    return std::string(host) + ":" + std::to_string(ntohs(in.sin_port));
}

} // namespace be::adapter
