// SPDX-License-Identifier: BSD-3-Clause
//
// Which ports there are, which of them are usable, and in words why the others are not.
//
// Rules
//   SoftMode::yes        only the software device
//   SoftMode::no         only hardware
//   SoftMode::automatic  hardware when the machine has any RDMA device, else the software
//                        device. A device that is present but has no active port is never
//                        replaced silently: nothing usable is returned, and the reason
//                        tells how to bring it up or to ask for the software device.
//
// Every call opens and closes the devices (milliseconds on hardware): callers keep the
// result.
// Threads: any.
// Errors: never throws but std::bad_alloc; what cannot be read becomes a reason.
#pragma once

#include "verbs/table.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace be::verbs {

enum class SoftMode {
    automatic,
    yes,
    no
};

enum class LinkLayer {
    unknown,
    infiniband,
    ethernet
};

struct PortReport {
    std::string device; // "mlx5_0"
    uint8_t port         = 0; // 1-based; 0: the device itself could not be opened
    ibv_port_state state = IBV_PORT_NOP;
    LinkLayer link_layer = LinkLayer::unknown;
    std::string netdev; // "eth2"; "lo" for the software device; empty: unknown
    int numa_node      = -1; // -1: unknown
    double rate        = 0; // bytes per second, data
    ibv_mtu active_mtu = IBV_MTU_256;
    bool usable        = false;
    bool soft          = false;
    std::string reason; // why it is or is not used; never empty
};

struct Discovery {
    std::vector<PortReport> ports; // usable or not; the software device's last
    // When no port is usable: why, and what to do; else which kind was chosen.
    std::string reason;

    bool any_usable() const;
};

// Where discovery looks; tests put their own in place.
struct Sources {
    using Loader      = std::function<const Table *(std::string *why)>;
    Loader hardware   = verbs::hardware;
    Loader soft       = verbs::soft;
    std::string sysfs = "/sys/class/infiniband";
};

Discovery discover(SoftMode mode, const Sources &sources = {});

// "PORT_DOWN" and so on; never null.
const char *to_string(ibv_port_state state);
const char *to_string(LinkLayer layer);

} // namespace be::verbs
