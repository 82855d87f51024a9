// SPDX-License-Identifier: BSD-3-Clause
//
// The list of a port's counters, under the names that NICs give them: what the program `softrdma` shows
// and exports, and what a new process in a registry slot sets to zero.
#pragma once

#include "port.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softrdma {

struct counter_view {
    std::string name;
    const char *folder; // where sysfs has it: "counters" or "hw_counters"
    uint32_t unit; // amounts that one of sysfs stands for: 4 for data, 1 for the rest
    const char *help; // one sentence without its full stop
    counter *source;
};

// All of one port, in the order in which they are shown.
std::vector<counter_view> list_counters(port_shared &port);

} // namespace softrdma
