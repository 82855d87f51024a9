// SPDX-License-Identifier: BSD-3-Clause

#include "engine/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace be::engine {
namespace {

constexpr std::uint8_t address_version = 1;

void store_le(std::uint8_t *out, std::uint64_t value, unsigned bytes) noexcept
{
    for (unsigned i = 0; i < bytes; ++i) {
        out[i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
}

std::uint64_t load_le(const std::uint8_t *in, unsigned bytes) noexcept
{
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
        value |= static_cast<std::uint64_t>(in[i]) << (8 * i);
    }
    return value;
}

// FNV-1a (Fowler, Noll, Vo), 64 bits: only tells machines apart, nothing secret.
std::uint64_t hash(std::uint64_t state, const void *data, std::size_t length) noexcept
{
    const auto *bytes = static_cast<const std::uint8_t *>(data);
    for (std::size_t i = 0; i < length; ++i) {
        state = (state ^ bytes[i]) * 0x100000001b3ULL;
    }
    return state;
}

bool known_wire(std::uint8_t value) noexcept
{
    return value >= static_cast<std::uint8_t>(Wire::soft) &&
           value <= static_cast<std::uint8_t>(Wire::ethernet);
}

} // namespace

const char *to_string(Wire wire) noexcept
{
    switch (wire) {
    case Wire::soft:
        return "soft device";
    case Wire::infiniband:
        return "InfiniBand";
    case Wire::ethernet:
        return "Ethernet";
    }
    return "unknown";
}

std::string DeviceAddress::unreachable_because(const DeviceAddress &remote) const
{
    if (wire != remote.wire) {
        return fmt::format("this port is {}, the other {}", to_string(wire),
                           to_string(remote.wire));
    }
    if (domain == remote.domain) {
        return {};
    }
    return wire == Wire::soft ?
                   "the soft device reaches only processes of this user on this machine" :
                   "the other port is in another InfiniBand subnet";
}

// Offsets: 0 version, 1 wire, 2..7 zero, 8..15 domain, 16..23 zero.
void DeviceAddress::encode(std::span<std::uint8_t, BE_DEVICE_ADDR_LEN> out) const noexcept
{
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    out[0] = address_version;
    out[1] = static_cast<std::uint8_t>(wire);
    store_le(&out[8], domain, 8);
}

std::optional<DeviceAddress>
DeviceAddress::decode(std::span<const std::uint8_t, BE_DEVICE_ADDR_LEN> in) noexcept
{
    if (in[0] != address_version || !known_wire(in[1])) {
        return std::nullopt;
    }
    return DeviceAddress{static_cast<Wire>(in[1]), load_le(&in[8], 8)};
}

// Offsets: 0 version, 1 wire, 2..3 port, 4..11 fabric id, 12..27 token, 28..43 IP, 44..51 domain,
// 52..53 interface, 54..55 zero.
void FabricAddress::encode(std::span<std::uint8_t, BE_FABRIC_ADDR_LEN> out) const noexcept
{
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    out[0] = address_version;
    store_le(&out[2], control.port, 2);
    store_le(&out[4], identity.fabric_id, 8);
    std::copy(identity.token.begin(), identity.token.end(), &out[12]);
    std::copy(control.ip.begin(), control.ip.end(), &out[28]);
    out[1] = static_cast<std::uint8_t>(device.wire);
    store_le(&out[44], device.domain, 8);
    store_le(&out[52], iface, 2);
}

std::optional<FabricAddress>
FabricAddress::decode(std::span<const std::uint8_t, BE_FABRIC_ADDR_LEN> in) noexcept
{
    FabricAddress address;
    if (in[0] != address_version) {
        return std::nullopt;
    }
    address.control.port       = static_cast<std::uint16_t>(load_le(&in[2], 2));
    address.identity.fabric_id = load_le(&in[4], 8);
    std::memcpy(address.identity.token.data(), &in[12], address.identity.token.size());
    std::memcpy(address.control.ip.data(), &in[28], address.control.ip.size());
    address.device = {static_cast<Wire>(in[1]), load_le(&in[44], 8)};
    address.iface  = static_cast<std::uint16_t>(load_le(&in[52], 2));
    if (address.identity.fabric_id == 0 || !known_wire(in[1])) {
        return std::nullopt;
    }
    return address;
}

std::uint64_t soft_domain() noexcept
{
    std::string boot_id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
    struct stat pid_namespace {};
    if (::stat("/proc/self/ns/pid", &pid_namespace) != 0) {
        pid_namespace.st_ino = 0;
    }
    const std::uint64_t words[] = {::geteuid(), pid_namespace.st_ino};
    return hash(hash(0xcbf29ce484222325ULL, boot_id.data(), boot_id.size()), words,
                sizeof(words));
}

} // namespace be::engine
