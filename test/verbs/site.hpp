// SPDX-License-Identifier: BSD-3-Clause
//
// Where the suite runs: the software device, or real ones.
//
//   SOFTTEST_DEVICES    names of the test's own and of the servants' device, as in rxe0,rxe1; by default
//                       the first one there is, for both
//   SOFTTEST_GID_INDEX  of both (default 0)
#pragma once

#include "verbs_api.hpp"

#include <string>

namespace softtest {

struct site {
    std::string own_device; // empty: the first one
    std::string servants_device;
    uint8_t gid_index = 0;
    bool soft         = true; // the devices are the software device's
    bool ethernet     = false;
    // The device reaches other processes' memory by itself. Otherwise (SOFTRDMA_CMA=off, or a filter) requests
    // take their time, and the other process must run.
    bool direct = true;
};

const site &where_we_are();

// Opens the device of that name, the first one when it is empty. Null when there is none.
ibv_context *open_device(const std::string &name);

} // namespace softtest
