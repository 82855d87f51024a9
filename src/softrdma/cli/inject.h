// SPDX-License-Identifier: BSD-3-Clause
//
// Faults on command.
#pragma once

#include "softrdma/cli/domain.h"

#include <string>
#include <vector>

namespace softrdma::cli {

// "KIND key=value...", which may hold pid=. What was hit, in words. Throws bad_input for what cannot be
// understood, std::runtime_error when nothing could be hit.
std::string inject(const std::string &domain_name, const std::vector<std::string> &words);

// The kinds of faults, a line each.
std::string fault_help();

struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Takes "pid=N" out of the words. Throws bad_input.
pid_t take_pid(std::vector<std::string> &words);

} // namespace softrdma::cli
