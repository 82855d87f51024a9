// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/doctor/machine.hpp"

namespace be::tools {

/**
 * What the driver of a network interface counts of pauses (PFC or global), as `ethtool -S`
 * shows it: those that are not 0. Empty when the driver tells nothing.
 */
std::vector<PortCounter> pause_counters(const std::string &netdev);

} // namespace be::tools
