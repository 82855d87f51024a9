// SPDX-License-Identifier: BSD-3-Clause
//
// Where the control channel's messages go.

#pragma once

#include <functional>
#include <string>

namespace be::control {

enum class Level { error, warning, info, debug };

using Logger = std::function<void(Level, const std::string &)>;

// Replaces the process-wide logger; an empty one restores the default, which
// writes errors and warnings to stderr. The logger is called on the control
// thread, one call at a time, and must not call set_logger(). When this returns,
// the previous logger is no longer running.
void set_logger(Logger logger);

// One line, without a newline. Messages caused by the other side of a
// connection pass a limiter: at most log_burst of them in log_interval_seconds,
// then one line that says how many were left out.
void log(Level level, const std::string &text) noexcept;
void log_limited(Level level, const std::string &text) noexcept;

constexpr unsigned log_burst            = 10;
constexpr unsigned log_interval_seconds = 10;

} // namespace be::control
