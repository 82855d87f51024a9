// SPDX-License-Identifier: BSD-3-Clause
//
// Where the control channel's messages go.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace be::control {

enum class Level {
    error,
    warning,
    info,
    debug
};

using Logger = std::function<void(Level, const std::string &)>;

// Replaces the process-wide logger; an empty one restores the default, which
// writes errors and warnings to stderr. The logger is called on the control
// thread (during a change, the old and the new one may run at the same time),
// must not block and must not throw. The limiter below starts afresh.
void set_logger(Logger logger);

// Writes one line, given without a newline.
void log(Level level, const std::string &text) noexcept;

// The same for what the other side of a connection can cause as often as it
// likes: passes LogLimiter, process-wide.
void log_limited(Level level, const std::string &text) noexcept;

// Lets `burst` messages through in each interval and counts the rest.
class LogLimiter {
public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr unsigned burst = 10;
    static constexpr auto interval  = std::chrono::seconds(10);

    struct Verdict {
        bool pass              = false;
        std::uint64_t left_out = 0; // since the last message that passed
    };

    Verdict admit(Time now) noexcept;

private:
    Time m_start{};
    unsigned m_passed        = burst;
    std::uint64_t m_left_out = 0;
};

} // namespace be::control
