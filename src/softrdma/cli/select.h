// SPDX-License-Identifier: BSD-3-Clause
//
// Words of a command that say which ports it is about.
#pragma once

#include "softrdma/cli/domain.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace softrdma::cli {

// What the user wrote cannot be understood.
struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Takes "pid=N" and "device=softrdmaN" out of the words. Throws bad_input.
selection take_selection(std::vector<std::string> &words);

} // namespace softrdma::cli
