// SPDX-License-Identifier: BSD-3-Clause
//
// Faults on command.
#pragma once

#include <string>
#include <vector>

namespace softrdma::cli {

// "KIND key=value...", which may hold pid= and device=. What was hit, in words. Throws bad_input for what cannot be
// understood, std::runtime_error when nothing could be hit.
std::string inject(const std::string &domain_name, const std::vector<std::string> &words);

// The kinds of faults, a line each.
std::string fault_help();

} // namespace softrdma::cli
