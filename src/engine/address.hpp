// SPDX-License-Identifier: BSD-3-Clause
//
// The two addresses that UCX carries between processes for us.
//
// Device address: which ports can reach each other at all; UCX asks before it chooses a transport.
// Fabric address: which fabric it is and which interface of it, where its control port listens, the token that
// proves to it that the caller was given this address, and the device address once more: connection managers drop
// the first.
//
// Both are versioned by their first byte; decode refuses what it does not know. Little-endian.

#pragma once

#include "control/types.hpp"
#include "engine/c_api.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace be::engine {

// How packets travel.
enum class Wire : std::uint8_t {
    soft       = 1,
    infiniband = 2,
    ethernet   = 3
};

const char *to_string(Wire wire) noexcept;

struct DeviceAddress {
    Wire wire = Wire::soft;
    // soft: this machine, user and process namespace; InfiniBand: the subnet prefix; Ethernet: 0, any port
    // may reach any other by IP.
    std::uint64_t domain = 0;

    // Empty when `remote` can be reached from a port with this address, else why not.
    std::string unreachable_because(const DeviceAddress &remote) const;

    void encode(std::span<std::uint8_t, BE_DEVICE_ADDR_LEN> out) const noexcept;
    static std::optional<DeviceAddress>
    decode(std::span<const std::uint8_t, BE_DEVICE_ADDR_LEN> in) noexcept;
};

struct FabricAddress {
    control::Identity identity;
    control::Address control;
    DeviceAddress device;
    std::uint16_t iface = 0; // within the fabric

    void encode(std::span<std::uint8_t, BE_FABRIC_ADDR_LEN> out) const noexcept;
    static std::optional<FabricAddress>
    decode(std::span<const std::uint8_t, BE_FABRIC_ADDR_LEN> in) noexcept;
};

// The domain of soft devices that can reach each other: same boot, user and process namespace.
std::uint64_t soft_domain() noexcept;

} // namespace be::engine
