// SPDX-License-Identifier: BSD-3-Clause
//
// What a process may have (ulimit). Shared memory is made of files, and a process that makes one larger than it
// may is killed (SIGXFSZ), so that limit is looked at first; the others are named when something has failed.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
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

// The failure in words, with the limit that it may come from.
inline std::string describe_failure(int failure)
{
    std::string text = strerror(failure);
    rlimit limit{};
    bool descriptors = failure == EMFILE;
    if ((descriptors || (failure == ENOMEM)) &&
        (getrlimit(descriptors ? RLIMIT_NOFILE : RLIMIT_AS, &limit) == 0) &&
        (limit.rlim_cur != RLIM_INFINITY)) {
        text += descriptors ? " (ulimit -n is " + std::to_string(limit.rlim_cur) + ")" :
                              " (ulimit -v is " + std::to_string(limit.rlim_cur >> 20) +
                                      " MiB)";
    }
    return text;
}

} // namespace softrdma
