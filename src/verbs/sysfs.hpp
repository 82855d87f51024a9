// SPDX-License-Identifier: BSD-3-Clause
//
// What sysfs knows of RDMA devices and verbs does not tell. `root` is
// /sys/class/infiniband, or a copy in tests. Everything that cannot be read is empty or
// -1: containers may hide any of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace be::verbs::sysfs {

// Names of the devices the kernel has.
std::vector<std::string> devices(const std::string &root);

// The network interface behind a port: of its first GID (RoCE), or the IPoIB interface of
// that port.
std::string netdev(const std::string &root, const std::string &device, uint8_t port);

// -1: unknown.
int numa_node(const std::string &root, const std::string &device);

// "RoCE v2", "IB/RoCE v1"; empty: no such entry.
std::string
gid_type(const std::string &root, const std::string &device, uint8_t port, int index);

} // namespace be::verbs::sysfs
