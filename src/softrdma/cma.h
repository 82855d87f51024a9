// SPDX-License-Identifier: BSD-3-Clause
//
// Cross memory attach: the system calls by which one process reads and writes another's memory, and
// whether the system lets this process use them. Seccomp filters of containers, Yama and different
// privileges forbid them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace softrdma {

// Whether an errno of the calls says that they are forbidden, or do not exist.
bool is_refusal(int failure);

// Reads `bytes` at `address` of that process. 0 or an errno.
int try_access(pid_t pid, uint64_t address, void *to, size_t bytes);

// Says on standard error that access to that process is forbidden, why, and what to change. The first time
// only: others have the same reason.
void say_refused(int failure, pid_t pid);

} // namespace softrdma
