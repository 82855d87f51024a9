// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at the ports of one device and judges each.
#pragma once

#include "verbs/discovery.hpp"

#include <string>
#include <vector>

namespace be::verbs {

// Opens and closes `device`. A device that cannot be used as a whole gives one report
// with port 0.
std::vector<PortReport>
probe_device(const Table &table, ibv_device *device, const std::string &sysfs);

} // namespace be::verbs
