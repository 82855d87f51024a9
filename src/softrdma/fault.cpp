// SPDX-License-Identifier: BSD-3-Clause
#include "fault.h"

#include "key_values.h"
#include "quantity.h"
#include "sizes.h"

#include <algorithm>

namespace softrdma {
namespace {

constexpr uint32_t largest_qpn     = 0xffffff;
constexpr const char *expected_qpn = "a queue pair number from 1 to 16777215, or all";

std::string wrong(const key_value &word, const char *expected)
{
    return word.key + "=" + word.value + ": expected " + expected;
}

bool set_time(const key_value &word, uint64_t &result, std::string &error)
{
    std::optional<uint64_t> value = parse_duration(word.value);
    if (!value.has_value() || (*value == 0)) {
        error = wrong(word, expected_duration);
        return false;
    }
    result = *value;
    return true;
}

bool set_key(const key_value &word, fault &result, std::string &error)
{
    if (word.key == "after") {
        return set_time(word, result.after_ns, error);
    }
    if (word.key == "for") {
        return set_time(word, result.for_ns, error);
    }
    if (word.key == "delay") {
        return set_time(word, result.amount_ns, error);
    }
    if (word.key == "count") {
        std::optional<uint64_t> value = parse_count(word.value);
        error                         = wrong(word, expected_count);
        result.count                  = static_cast<int64_t>(value.value_or(0));
        return value.has_value();
    }
    if (word.key == "qpn") {
        std::optional<uint64_t> value = parse_count(word.value);
        error                         = wrong(word, expected_qpn);
        bool all                      = word.value == "all";
        result.qpn = all ? 0 : static_cast<uint32_t>(value.value_or(0));
        return all || (value.has_value() && (*value <= largest_qpn));
    }
    std::optional<uint32_t> value = parse_device(word.value);
    error                         = wrong(word, expected_device);
    result.device                 = value.value_or(any_device);
    return value.has_value();
}

std::string names_of_kinds()
{
    std::string names;
    for (const fault_info &info : fault_kinds()) {
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    }
    return names;
}

} // namespace

std::optional<uint32_t> parse_device(std::string_view name)
{
    constexpr std::string_view prefix = "softrdma";
    if ((name.size() != prefix.size() + 1) || !name.starts_with(prefix)) {
        return std::nullopt;
    }
    uint32_t number = static_cast<uint32_t>(name.back()) - '0';
    return (number < limits::devices) ? std::optional(number) : std::nullopt;
}

const std::vector<fault_info> &fault_kinds()
{
    static const std::vector<fault_info> kinds{
            {fault_kind::qp_error, "qp-error", "qpn device after", "",
             "queue pairs go to the error state, with IBV_EVENT_QP_FATAL"},
            {fault_kind::link_down, "link-down", "device after for", "",
             "nothing leaves or arrives, IBV_EVENT_PORT_ERR; ends with PORT_ACTIVE"},
            {fault_kind::link_up, "link-up", "device after", "", "ends link-down"},
            {fault_kind::device_removed, "device-removed", "device after", "",
             "the device is gone for good, IBV_EVENT_DEVICE_FATAL"},
            {fault_kind::stall, "stall", "after for", "for",
             "the application's threads stop inside verbs calls; the device works on"},
            {fault_kind::completion_delay, "completion-delay", "delay device after for",
             "delay", "completions can be polled that much later"},
            {fault_kind::no_receives, "no-receives", "count device after for", "",
             "messages that arrive find no receive (RNR), whatever is posted"},
            {fault_kind::bit_flip, "bit-flip", "count device after for", "",
             "messages arrive with a wrong checksum and are discarded (1 by default)"},
            {fault_kind::clear, "clear", "device after", "",
             "ends every fault that lasts, but not a removal"},
    };
    return kinds;
}

const char *to_string(fault_kind kind)
{
    for (const fault_info &info : fault_kinds()) {
        if (info.kind == kind) {
            return info.name;
        }
    }
    return "?";
}

bool parse_fault(const std::vector<std::string> &words, fault &result, std::string &error)
{
    const auto &kinds = fault_kinds();
    std::string name  = words.empty() ? "" : words.front();
    auto found        = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const fault_info &info) { return name == info.name; });
    if (found == kinds.end()) {
        error = "fault \"" + name + "\": expected one of " + names_of_kinds();
        return false;
    }

    result                           = {};
    result.kind                      = found->kind;
    std::vector<std::string> allowed = split(found->keys, ' ');
    bool complete                    = *found->required == '\0';
    for (size_t i = 1; i < words.size(); ++i) {
        key_value word = to_key_value(words[i]);
        if (std::find(allowed.begin(), allowed.end(), word.key) == allowed.end()) {
            error = name + ": \"" + words[i] + "\": expected KEY=VALUE with one of " +
                    std::string(found->keys);
            return false;
        }
        if (!set_key(word, result, error)) {
            error = name + ": " + error;
            return false;
        }
        complete |= word.key == found->required;
    }
    if (!complete) {
        error = name + ": expected " + found->required + "=" + expected_duration;
        return false;
    }
    if ((result.kind == fault_kind::bit_flip) && (result.count < 0) &&
        (result.for_ns == 0)) {
        result.count = 1;
    }
    error.clear();
    return true;
}

bool parse_faults(const std::string &text, std::vector<fault> &result, std::string &error)
{
    result.clear();
    for (const std::string &part : split(text, ';')) {
        fault next;
        if (!parse_fault(split(part, ','), next, error)) {
            return false;
        }
        result.push_back(next);
    }
    return true;
}

} // namespace softrdma
