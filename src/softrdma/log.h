// SPDX-License-Identifier: BSD-3-Clause
//
// Diagnostics on standard error, one line each, prefixed "softrdma[pid]". Never called on the data path
// of a working connection. SOFTRDMA_LOG chooses the least important level shown (default warn).
#pragma once

#include <atomic>

namespace softrdma {

enum class log_level {
    error,
    warn,
    info,
    debug
};

extern std::atomic<log_level> log_threshold;

void log_line(log_level level, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

inline bool log_wanted(log_level level)
{
    return level <= log_threshold.load(std::memory_order_relaxed);
}

} // namespace softrdma

#define SOFTRDMA_LOG(level, ...)                                             \
    do {                                                                     \
        if (::softrdma::log_wanted(::softrdma::log_level::level)) {          \
            ::softrdma::log_line(::softrdma::log_level::level, __VA_ARGS__); \
        }                                                                    \
    } while (0)

// For conditions that can repeat without end: the first occurrence of this place only.
#define SOFTRDMA_LOG_ONCE(level, ...)                          \
    do {                                                       \
        static std::atomic<bool> said{false};                  \
        if (!said.exchange(true, std::memory_order_relaxed)) { \
            SOFTRDMA_LOG(level, __VA_ARGS__);                  \
        }                                                      \
    } while (0)
