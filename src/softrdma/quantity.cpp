// SPDX-License-Identifier: BSD-3-Clause
#include "quantity.h"

#include <charconv>
#include <cmath>
#include <initializer_list>

namespace softrdma {
namespace {

struct unit {
    std::string_view suffix;
    double factor;
};

// A number, without sign, and one of the units behind it. An empty suffix allows a bare number.
std::optional<double>
parse_scaled(std::string_view text, std::initializer_list<unit> units)
{
    double number          = 0;
    const char *end        = text.data() + text.size();
    auto [rest, condition] = std::from_chars(text.data(), end, number,
                                             std::chars_format::fixed);
    if ((condition != std::errc()) || (number < 0) || !std::isfinite(number)) {
        return std::nullopt;
    }
    std::string_view suffix(rest, static_cast<size_t>(end - rest));
    for (const unit &candidate : units) {
        if (candidate.suffix == suffix) {
            return number * candidate.factor;
        }
    }
    return std::nullopt;
}

std::optional<uint64_t> within(std::optional<double> value, double low, double high)
{
    if (!value.has_value() || (*value < low) || (*value > high)) {
        return std::nullopt;
    }
    return static_cast<uint64_t>(std::llround(*value));
}

} // namespace

std::optional<uint64_t> parse_duration(std::string_view text)
{
    if (text == "0") {
        return 0;
    }
    return within(parse_scaled(text, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}),
                  0, 86400e9);
}

std::optional<uint64_t> parse_rate(std::string_view text)
{
    return within(parse_scaled(text, {{"M", 1e6}, {"G", 1e9}}), 1e6, 1000e9);
}

std::optional<uint64_t> parse_bytes(std::string_view text)
{
    return within(parse_scaled(text,
                               {{"", 1}, {"K", 1024}, {"M", 1024 * 1024}, {"G", 1 << 30}}),
                  0, 1 << 30);
}

std::optional<double> parse_probability(std::string_view text)
{
    std::optional<double> value = parse_scaled(text, {{"", 1}, {"%", 0.01}});
    return (value.has_value() && (*value <= 1)) ? value : std::nullopt;
}

std::optional<uint64_t> parse_count(std::string_view text)
{
    uint64_t number        = 0;
    const char *end        = text.data() + text.size();
    auto [rest, condition] = std::from_chars(text.data(), end, number);
    bool valid = (condition == std::errc()) && (rest == end) && (number >= 1) &&
                 (number <= 1'000'000'000);
    return valid ? std::optional(number) : std::nullopt;
}

} // namespace softrdma
