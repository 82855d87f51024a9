// SPDX-License-Identifier: BSD-3-Clause
//
// Which core a thread runs on, through hwloc.
#pragma once

#include <string>

namespace be::adapter {

// Binds the calling thread to the first hardware thread of the `index`-th core that the
// process may use, counted around. Empty: done; else why not.
std::string bind_to_core(unsigned index);

} // namespace be::adapter
