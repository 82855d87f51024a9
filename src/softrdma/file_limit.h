// SPDX-License-Identifier: BSD-3-Clause
//
// Shared memory is made of files, and a process that makes one larger than it may is killed (SIGXFSZ).
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/resource.h>

namespace softrdma {

// False with errno EFBIG: this process may not have a file of so many bytes (ulimit -f).
inline bool may_have_file_of(uint64_t bytes)
{
    rlimit limit{};
    if ((getrlimit(RLIMIT_FSIZE, &limit) == 0) && (limit.rlim_cur != RLIM_INFINITY) &&
        (limit.rlim_cur < bytes)) {
        errno = EFBIG;
        return false;
    }
    return true;
}

} // namespace softrdma
