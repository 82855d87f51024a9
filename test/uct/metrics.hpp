// SPDX-License-Identifier: BSD-3-Clause
//
// What the interfaces of this process tell in UCX's virtual file system.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uct_test {

// What a folder has.
std::vector<std::string> list(const std::string &path);

// A metric of each interface. Throws std::runtime_error if one does not have it.
std::vector<uint64_t> metric(const std::string &name);

} // namespace uct_test
