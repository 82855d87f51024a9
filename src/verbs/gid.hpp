// SPDX-License-Identifier: BSD-3-Clause
//
// Choice of the GID a port speaks with.
//
// RoCE: the first RoCE v2 entry that holds an IPv4 address, else the first RoCE v2 entry
// with a routable IPv6 address, else any RoCE v2 entry, else index 0. InfiniBand and the
// software device: index 0.
// The type of an entry is in sysfs (ports/N/gid_attrs/types/I): verbs has no
// portable call for it.
#pragma once

#include "verbs/context.hpp"

#include <cstdint>
#include <string>

namespace be::verbs {

struct Gid {
    int index     = 0;
    ibv_gid value = {};
    std::string type; // "RoCE v2", "IB/RoCE v1", ... as sysfs says; empty: unknown

    bool is_ipv4_mapped() const;
    std::string to_string() const; // as an IPv6 (or v4-mapped) address
};

// `requested` is an index, or -1 to choose. Throws Error when the entry cannot be read or
// is empty.
Gid choose_gid(const Context &context, uint8_t port, int requested,
               const std::string &sysfs = "/sys/class/infiniband");

} // namespace be::verbs
