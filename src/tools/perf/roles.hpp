// SPDX-License-Identifier: BSD-3-Clause
//
// The processes of a measurement. be_perf runs itself once for each of them.
//
// They talk to the one that started them by lines (process.hpp): a
// server says its address, a client "ready" once it is warm; "go" begins the measurement,
// which the server answers with "ready", too. A client ends by itself and prints what it has measured (Measured as JSON); a server
// does so at the next line.
#pragma once

#include "tools/perf/options.hpp"

#include <string>

namespace be::tools {

int run_server(const PerfOptions &options);
int run_client(const PerfOptions &options, unsigned number, const std::string &address);

/** User and system time of this process, in seconds. */
double cpu_seconds();

} // namespace be::tools
