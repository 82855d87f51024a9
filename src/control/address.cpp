// SPDX-License-Identifier: BSD-3-Clause

#include "control/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace be::control {

namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix{0, 0, 0, 0, 0,    0,
                                                 0, 0, 0, 0, 0xff, 0xff};

bool parse_ip(const std::string &text, std::array<std::uint8_t, 16> &ip)
{
    if (inet_pton(AF_INET, text.c_str(), ip.data() + v4_prefix.size()) == 1) {
        std::copy(v4_prefix.begin(), v4_prefix.end(), ip.begin());
        return true;
    }

    return inet_pton(AF_INET6, text.c_str(), ip.data()) == 1;
}

bool parse_port(std::string_view text, std::uint16_t &port)
{
    if (text.empty() || ((text.size() > 1) && (text[0] == '0'))) {
        return false;
    }

    auto result = std::from_chars(text.data(), text.data() + text.size(), port);
    return (result.ec == std::errc()) && (result.ptr == text.data() + text.size());
}

} // namespace

bool Address::is_v4() const noexcept
{
    return std::equal(v4_prefix.begin(), v4_prefix.end(), ip.begin());
}

bool Address::is_unspecified() const noexcept
{
    auto first = ip.begin() + (is_v4() ? v4_prefix.size() : 0);
    return std::all_of(first, ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::string Address::ip_string() const
{
    char text[INET6_ADDRSTRLEN];

    if (is_v4()) {
        return inet_ntop(AF_INET, ip.data() + v4_prefix.size(), text, sizeof(text));
    }

    return inet_ntop(AF_INET6, ip.data(), text, sizeof(text));
}

std::string Address::to_string() const
{
    auto port_text = std::to_string(port);
    return is_v4() ? ip_string() + ":" + port_text : "[" + ip_string() + "]:" + port_text;
}

std::optional<Address> Address::parse(std::string_view text)
{
    Address address;

    // inet_pton() reads a C string: what follows a NUL would pass unseen.
    if (text.find('\0') != text.npos) {
        return std::nullopt;
    }

    std::string_view host = text;
    if (text.starts_with('[')) {
        auto end = text.find("]:");
        if (end == text.npos) {
            return std::nullopt;
        }

        host = text.substr(1, end - 1);
        if ((host.find(':') == host.npos) ||
            !parse_port(text.substr(end + 2), address.port)) {
            return std::nullopt;
        }
    } else if (std::count(text.begin(), text.end(), ':') == 1) {
        auto colon = text.find(':');
        host       = text.substr(0, colon);
        if (!parse_port(text.substr(colon + 1), address.port)) {
            return std::nullopt;
        }
    }

    if (!parse_ip(std::string(host), address.ip)) {
        return std::nullopt;
    }

    return address;
}

} // namespace be::control
