// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/run/plan.hpp"

namespace be::tools {

/** Exit statuses of a command that was not started, as a shell's. */
constexpr int exit_cannot_run = 126;
constexpr int exit_not_found  = 127;

/**
 * Becomes the plan's command, with its variables set. When that fails, says why on stderr and
 * ends the process at once, without what std::exit() does: it may be a child that was forked.
 */
[[noreturn]] void execute(const Plan &plan);

} // namespace be::tools
