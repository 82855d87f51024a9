// SPDX-License-Identifier: BSD-3-Clause

#include "engine/log.hpp"

#include "control/logger.hpp"

#include <atomic>
#include <cstdio>

namespace be::engine {
namespace {

void print_to_stderr(be_log_level_t level, const char *text)
{
    static constexpr const char *names[] = {"error", "warning", "info", "debug", "trace"};
    std::fprintf(stderr, "be: %s: %s\n", names[level], text);
}

std::atomic<be_log_func_t> sink{print_to_stderr};
std::atomic<int> max_level{BE_LOG_WARN};

be_log_level_t from_control(control::Level level)
{
    switch (level) {
    case control::Level::error:
        return BE_LOG_ERROR;
    case control::Level::warning:
        return BE_LOG_WARN;
    case control::Level::info:
        return BE_LOG_INFO;
    case control::Level::debug:
        break;
    }
    return BE_LOG_DEBUG;
}

} // namespace

bool log_enabled(be_log_level_t level) noexcept
{
    return level <= max_level.load(std::memory_order_relaxed);
}

void log_line(be_log_level_t level, const std::string &text) noexcept
{
    if (log_enabled(level)) {
        sink.load(std::memory_order_acquire)(level, text.c_str());
    }
}

} // namespace be::engine

void be_log_set(be_log_func_t func, be_log_level_t level)
{
    using namespace be::engine;
    max_level.store(level, std::memory_order_relaxed);
    sink.store(func != nullptr ? func : print_to_stderr, std::memory_order_release);
    be::control::set_logger([](be::control::Level l, const std::string &text) {
        log_line(from_control(l), text);
    });
}
