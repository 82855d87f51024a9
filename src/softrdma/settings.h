// SPDX-License-Identifier: BSD-3-Clause
//
// The SOFTRDMA_* environment, read once when the device list is first asked for. A value that cannot be
// used is reported in one line and the default stays. docs/softrdma.md lists them.
#pragma once

#include "fabric_settings.h"
#include "fault.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softrdma {

struct settings {
    uint32_t devices = 1;
    bool ethernet    = false;
    bool only        = false; // hide the devices of the real libibverbs
    uint32_t yield   = 100; // empty polls before it yields, see idle.h; 0 never
    bool cma         = true; // access other processes' memory where the system allows it
    uint32_t eager   = 0; // largest send through a bounce buffer, bytes
    uint32_t locked  = 0; // MiB that may be registered, at most; 0: any number
    std::string domain = "default";
    fabric_settings fabric; // of every port
    std::vector<fault> faults; // scheduled from the start on

    static settings from_environment();
};

} // namespace softrdma
