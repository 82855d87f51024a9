// SPDX-License-Identifier: BSD-3-Clause
//
// The C library's functions that are replaced when the library is preloaded (interpose.cpp).
#pragma once

namespace softrdma {

// The dlopen that is next in the search order.
void *next_dlopen(const char *file, int mode);

} // namespace softrdma
