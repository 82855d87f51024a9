// SPDX-License-Identifier: BSD-3-Clause
//
// Devices by number, as the parts that are shared with the program `softrdma` know them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace softrdma {

inline constexpr uint32_t any_device = UINT32_MAX;

inline constexpr const char *expected_device = "softrdma0 to softrdma7";

// The number in "softrdma0", nothing for any other name.
std::optional<uint32_t> parse_device(std::string_view name);

} // namespace softrdma
