// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/run/plan.hpp"

namespace be::tools {

/**
 * Runs the plan's command as a child, waits for it, and prints on stderr what its processes
 * on this machine have counted. SIGINT and SIGQUIT are the child's; SIGTERM and SIGHUP are
 * handed on.
 *
 * @return Its exit status, or 128 and the signal that ended it; 126 and 127 as a shell.
 *
 * @throws std::system_error when it cannot be started.
 */
int run_and_report(const Plan &plan);

} // namespace be::tools
