// SPDX-License-Identifier: BSD-3-Clause
//
// What the process shares: devices that are open, and fabrics with UCX_BE_MUX=process.
// Threads: any. A child of fork() finds nothing of its parent's here.

#pragma once

#include "engine/device.hpp"
#include "engine/fabric.hpp"

#include <memory>
#include <string>

namespace be::engine {

// The device of that name, opened on first use. Throws as Device's constructor.
std::shared_ptr<Device> open_device(const std::string &name, verbs::SoftMode mode);

// A fabric for a new member: one of its own or, if the configuration says so, that of others who use the same port
// in the same way. Throws as Fabric's constructor.
std::shared_ptr<Fabric> open_fabric(const std::shared_ptr<Device> &device,
                                    std::uint8_t port, const be_fabric_config_t &config);

// May members with these configurations share a fabric?
bool compatible(const be_fabric_config_t &one, const be_fabric_config_t &other) noexcept;

} // namespace be::engine
