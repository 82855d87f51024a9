// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/info/report.hpp"

#include <string>

namespace be::tools {

/** For people. */
std::string to_text(const Report &report);

/** For programs: one object, "schema_version" counts incompatible changes. */
std::string to_json(const Report &report);

/**
 * The port that the transport uses, for scripts, separated by tabs: DEVICE:PORT, network
 * interface, "software" or "hardware", reason. Empty when there is none.
 */
std::string used_line(const Report &report);

} // namespace be::tools
