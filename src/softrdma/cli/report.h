// SPDX-License-Identifier: BSD-3-Clause
//
// Counters in the forms that people and programs read.
#pragma once

#include "softrdma/cli/domain.h"

#include <string>

namespace softrdma::cli {

inline constexpr int schema_version = 1;

// Counters of data are kept in bytes and called so, except in the files, where both name and unit are
// the kernel's.
std::string counters_text(domain &where, const selection &wanted, bool zeros);
std::string counters_json(domain &where, const selection &wanted);
std::string counters_prometheus(domain &where, const selection &wanted);

// A tree as sysfs has it: FOLDER/softrdma0/ports/1/counters/port_xmit_data and so on, of all processes
// together, and the same below FOLDER/processes/PID. Files are replaced at once, those of ended processes
// removed. Throws std::runtime_error.
void export_counters(domain &where, const std::string &folder);

std::string show_text(domain &where);
std::string show_json(domain &where);

// The name under which a counter is shown.
std::string shown_name(const std::string &name, uint32_t unit);

} // namespace softrdma::cli
