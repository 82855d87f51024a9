// SPDX-License-Identifier: BSD-3-Clause
//
// File descriptors that verbs hands out.
#pragma once

#include <fcntl.h>

#include <cerrno>

namespace be::verbs {

// 0 or an errno value.
inline int set_nonblocking(int fd) noexcept
{
    const int flags = fcntl(fd, F_GETFL);
    if ((flags < 0) || (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)) {
        return errno;
    }
    return 0;
}

} // namespace be::verbs
