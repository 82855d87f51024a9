// SPDX-License-Identifier: BSD-3-Clause
//
// What stands for the kernel's descriptor of an open device (ibv_context::cmd_fd): a file that says which
// device of which process it is, so that a copy of the descriptor can be imported.
#pragma once

#include <cstdint>

namespace softrdma {

class process;

// A new descriptor; -1 with errno.
int create_context_file(const process &owner, uint32_t device);

enum class context_origin {
    unknown, // not a file of ours
    here,
    elsewhere // of another process, or of a parent before its fork
};

// Where the context behind a descriptor is; `device` is set when it is here.
context_origin read_context_file(const process *owner, int fd, uint32_t &device);

} // namespace softrdma
