// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/doctor/machine.hpp"

#include <string>

namespace be::tools {

/**
 * Whether metrics could be served as UCX_BE_METRICS says.
 *
 * @param modules  Folder of the transport; the library that serves them is beside it.
 */
void inspect_metrics(Machine &machine, const std::string &modules);

} // namespace be::tools
