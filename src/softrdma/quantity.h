// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities as people write them: "200ms", "10G", "256K", "1%". Each parser returns nothing for a text
// that is not entirely such a quantity or out of its range; the `expected_*` texts say what would be.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace softrdma {

inline constexpr const char *expected_duration =
        "a time such as 500ns, 20us, 1.5ms or 2s, at most one day";
inline constexpr const char *expected_rate =
        "bits per second such as 400M, 10G or 2.5G, from 1M to 1000G";
inline constexpr const char *expected_bytes =
        "bytes such as 65536, 256K or 4M (K = 1024), at most 1G";
inline constexpr const char *expected_probability = "a share such as 1% or 0.001";
inline constexpr const char *expected_count       = "a whole number from 1 to 1000000000";

std::optional<uint64_t> parse_duration(std::string_view text); // ns
std::optional<uint64_t> parse_rate(std::string_view text); // bits per second
std::optional<uint64_t> parse_bytes(std::string_view text);
std::optional<double> parse_probability(std::string_view text); // 0 to 1
std::optional<uint64_t> parse_count(std::string_view text);

} // namespace softrdma
