// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/perf/options.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace be::tools {

/** One run over one transport: all clients together. */
struct Run {
    std::string transport;
    double mean_us      = 0;
    double p50_us       = 0;
    double p99_us       = 0;
    double p999_us      = 0;
    double max_us       = 0;
    double operations_s = 0;
    double megabytes_s  = 0;
    double cpu_us       = 0; //< of client and server, for each operation

    // What only be counts, over all processes; NaN with another transport.
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    double copied_bytes             = unknown; //< for each operation
    double credit_us                = unknown; //< waited for credit, for each operation
    double bytes_us                 = unknown; //< ... for byte credit
    double window_us                = unknown; //< ... for the window
    double rnr                      = unknown;
    double registrations            = unknown; //< calls of ibv_reg_mr
    double pauses                   = unknown; //< of this machine's port
    Measured total;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, transport, mean_us, p50_us, p99_us, p999_us,
                                   max_us, operations_s, megabytes_s, cpu_us,
                                   copied_bytes, credit_us, bytes_us, window_us, rnr,
                                   registrations, pauses, total)

/**
 * Starts a server and the clients, and waits for their results.
 *
 * @param self  Path of be_perf; be_run is looked for beside it.
 *
 * @throws std::runtime_error saying which process had which problem.
 */
Run measure(const PerfOptions &options, const std::string &transport,
            const std::string &self);

/** All pairs, the transports in turns; `progress` hears of each run. */
std::vector<Run> measure_all(const PerfOptions &options, const std::string &self,
                             const std::function<void(const Run &)> &progress);

} // namespace be::tools
