// SPDX-License-Identifier: BSD-3-Clause
//
// Settings of the fabric, changed while programs run.
#pragma once

#include <string>
#include <vector>

namespace softrdma::cli {

// "key=value..." or "off", which may hold pid= and device=. What was set, in words. Throws bad_input for
// what cannot be understood, std::runtime_error when there is no such port.
std::string shape(const std::string &domain_name, const std::vector<std::string> &words);

} // namespace softrdma::cli
