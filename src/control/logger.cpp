// SPDX-License-Identifier: BSD-3-Clause

#include "control/logger.hpp"

#include "control/process.hpp"

#include <cstdio>
#include <memory>
#include <utility>

namespace be::control {

namespace {

void write_to_stderr(Level level, const std::string &text)
{
    if (level <= Level::warning) {
        std::fprintf(stderr, "be control %s: %s\n",
                     (level == Level::error) ? "error" : "warning", text.c_str());
    }
}

// Guarded by the process mutex; never destroyed.
struct State {
    std::shared_ptr<const Logger> logger = std::make_shared<Logger>(write_to_stderr);
    LogLimiter limiter;
};

State &state()
{
    static auto *instance = new State;
    return *instance;
}

} // namespace

void set_logger(Logger logger)
{
    auto next = std::make_shared<const Logger>(logger ? std::move(logger) :
                                                        Logger(write_to_stderr));
    std::lock_guard lock(process_mutex());

    // The previous logger is destroyed after the lock, by `next`.
    std::swap(state().logger, next);
    state().limiter = {};
}

void log(Level level, const std::string &text) noexcept
{
    try {
        std::shared_ptr<const Logger> logger;
        {
            std::lock_guard lock(process_mutex());
            logger = state().logger;
        }
        (*logger)(level, text);
    } catch (...) {
        // A message is lost; nothing else depends on it.
    }
}

void log_limited(Level level, const std::string &text) noexcept
{
    LogLimiter::Verdict verdict;

    {
        std::lock_guard lock(process_mutex());
        verdict = state().limiter.admit(std::chrono::steady_clock::now());
    }

    if (!verdict.pass) {
        return;
    }
    if (verdict.left_out != 0) {
        log(Level::warning,
            std::to_string(verdict.left_out) + " similar messages were left out");
    }
    log(level, text);
}

LogLimiter::Verdict LogLimiter::admit(Time now) noexcept
{
    if ((m_start == Time{}) || (now - m_start >= interval)) {
        m_start  = now;
        m_passed = 0;
    }

    if (m_passed == burst) {
        ++m_left_out;
        return {};
    }

    ++m_passed;
    return {true, std::exchange(m_left_out, 0)};
}

} // namespace be::control
