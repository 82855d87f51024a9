// SPDX-License-Identifier: BSD-3-Clause
//
// Rates of the counters at an interval.
#pragma once

#include "softrdma/cli/domain.h"

#include <cstdint>
#include <string>

namespace softrdma::cli {

struct watch_options {
    selection wanted;
    uint64_t interval_ns = 1'000'000'000;
    uint64_t rounds      = 0; // 0: until interrupted
    bool json            = false; // one line an interval
    std::string folder; // to export the counters to, each time; "" none
};

// Prints on standard output until it is interrupted or done.
void watch(domain &where, const watch_options &options);

} // namespace softrdma::cli
