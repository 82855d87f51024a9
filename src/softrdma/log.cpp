// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <cstdarg>
#include <cstdio>
#include <unistd.h>

namespace softrdma {

std::atomic<log_level> log_threshold{log_level::warn};

void log_line(log_level level, const char *format, ...)
{
    static constexpr const char *names[] = {"error", "warning", "info", "debug"};
    char line[512];
    int used = snprintf(line, sizeof(line), "softrdma[%d] %s: ", getpid(),
                        names[static_cast<int>(level)]);

    va_list args;
    va_start(args, format);
    int text = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    va_end(args);
    if (text < 0) {
        return;
    }

    size_t length = used + text;
    if (length > sizeof(line) - 2) {
        length = sizeof(line) - 2;
    }
    line[length++]                   = '\n';
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, length);
}

} // namespace softrdma
