// SPDX-License-Identifier: BSD-3-Clause
//
// The window of a relayed request: shared memory through which its data goes in a circle, one side filling
// it and the other draining it at the same time. Both copy by calls of the system on the segment's file, so
// that application memory that is not there (any more) is an error and not a crash.
//
// Order: the last eight bytes of the data are written after all others, and never fall into two pieces.
#pragma once

#include "layout.h"
#include "transfer.h"

namespace softrdma {

struct relay_window {
    relay_shared &entry;
    int file; // of the segment that has it
};

// One piece of `data`, which is all that the request moves, into or out of the window. `moved`: whether there
// was one. 0 or an errno: EFAULT memory is not there, EIO the window is in disorder.
int fill(const relay_window &window, const memory_list &data, bool &moved);
int drain(const relay_window &window, const memory_list &data, bool &moved);

// Of an atomic operation: reads the word, and writes it. The caller keeps others off it in between. 0 or EFAULT.
int read_word(const relay_window &window, const memory_list &word, uint64_t &value);
int write_word(const relay_window &window, const memory_list &word, uint64_t value);

} // namespace softrdma
