// SPDX-License-Identifier: BSD-3-Clause
//
// Where a control port can be reached: an IP address and a TCP port.
//
// IPv4 addresses are kept v4-mapped (::ffff:a.b.c.d), so that one 18-byte form
// serves both families, in memory as in the interface address. Plain value,
// no resolution of names. IPv6 scope ids are not carried: link-local addresses
// cannot be used.

#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace be::control {

struct Address {
    std::array<std::uint8_t, 16> ip{}; // network byte order
    std::uint16_t port = 0; // host byte order

    bool is_v4() const noexcept;

    // True for 0.0.0.0 and ::, which name no host that a peer could connect to.
    bool is_unspecified() const noexcept;

    // The IP alone: "10.0.0.1" or "fe80::1".
    std::string ip_string() const;

    // "10.0.0.1:4000" or "[2001:db8::1]:4000".
    std::string to_string() const;

    // Accepts what to_string() and ip_string() write (no port: port 0) and
    // nothing else: no names, no blanks, no leading zeros in the port.
    static std::optional<Address> parse(std::string_view text);

    auto operator<=>(const Address &) const = default;
};

} // namespace be::control
