// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/select.h"

#include "softrdma/key_values.h"
#include "softrdma/quantity.h"

namespace softrdma::cli {
namespace {

constexpr uint64_t largest_pid = 1u << 22;

pid_t read_pid(const key_value &word)
{
    std::optional<uint64_t> pid = parse_count(word.value);
    if (!pid.has_value() || (*pid > largest_pid)) {
        throw bad_input("pid=" + word.value + ": expected the number of a process");
    }
    return static_cast<pid_t>(*pid);
}

uint32_t read_device(const key_value &word)
{
    std::optional<uint32_t> device = parse_device(word.value);
    if (!device.has_value()) {
        throw bad_input("device=" + word.value + ": expected " + expected_device);
    }
    return *device;
}

} // namespace

selection take_selection(std::vector<std::string> &words)
{
    selection result;
    std::vector<std::string> rest;
    for (const std::string &text : words) {
        key_value word = to_key_value(text);
        if (word.key == "pid") {
            result.pid = read_pid(word);
        } else if (word.key == "device") {
            result.device = read_device(word);
        } else {
            rest.push_back(text);
        }
    }
    words = rest;
    return result;
}

} // namespace softrdma::cli
