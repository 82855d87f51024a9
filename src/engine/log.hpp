// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's voice: one line to the function that the upper layer set with be_log_set(). Any thread.
// The text is formatted only when its level is wanted. Nothing on the data path logs: what is said here
// happens once per peer, per device or per failure.

#pragma once

#include "engine/c_api.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace be::engine {

bool log_enabled(be_log_level_t level) noexcept;
void log_line(be_log_level_t level, const std::string &text) noexcept;

template<typename... Args>
void log(be_log_level_t level, fmt::format_string<Args...> format, Args &&...args)
{
    if (log_enabled(level)) {
        log_line(level, fmt::format(format, std::forward<Args>(args)...));
    }
}

} // namespace be::engine
