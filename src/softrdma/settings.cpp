// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include "key_values.h"
#include "log.h"
#include "sizes.h"

#include <algorithm>
#include <cerrno>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace softrdma {
namespace {

void refuse(const char *name, const char *value, const char *expected)
{
    log_line(log_level::warn, "%s=\"%s\" is ignored: expected %s", name, value, expected);
}

void read_number(const char *name, uint32_t low, uint32_t high, uint32_t &result)
{
    const char *value = getenv(name);
    if (value == nullptr) {
        return;
    }

    char *end            = nullptr;
    errno                = 0;
    unsigned long parsed = strtoul(value, &end, 10);
    if (!isdigit(static_cast<unsigned char>(value[0])) || (*end != '\0') ||
        (errno != 0) || (parsed < low) || (parsed > high)) {
        std::string expected = "a whole number from " + std::to_string(low) + " to " +
                               std::to_string(high);
        refuse(name, value, expected.c_str());
        return;
    }
    result = static_cast<uint32_t>(parsed);
}

template<class T>
void read_choice(const char *name,
                 std::initializer_list<std::pair<const char *, T>> choices, T &result)
{
    const char *value = getenv(name);
    if (value == nullptr) {
        return;
    }

    std::string expected;
    for (const auto &[word, meaning] : choices) {
        if (strcasecmp(value, word) == 0) {
            result = meaning;
            return;
        }
        expected += expected.empty() ? "one of " : ", ";
        expected += word;
    }
    refuse(name, value, expected.c_str());
}

void read_domain(const char *name, std::string &result)
{
    const char *value = getenv(name);
    if (value == nullptr) {
        return;
    }

    std::string text = value;
    bool valid       = !text.empty() && (text.size() <= 32) &&
                 std::all_of(text.begin(), text.end(), [](unsigned char c) {
                     return isalnum(c) || (c == '-') || (c == '_');
                 });
    if (!valid) {
        refuse(name, value, "1 to 32 letters, digits, '-' or '_'");
        return;
    }
    result = text;
}

void read_faults(const char *name, std::vector<fault> &result)
{
    const char *value = getenv(name);
    std::string error;
    if ((value != nullptr) && !parse_faults(value, result, error)) {
        log_line(log_level::warn, "%s is ignored: %s", name, error.c_str());
        result.clear();
    }
}

void read_fabric(const char *name, fabric_settings &result)
{
    const char *value = getenv(name);
    std::string error;
    if ((value != nullptr) && !parse_fabric(split(value, ','), result, error)) {
        log_line(log_level::warn, "%s is ignored: %s", name, error.c_str());
    }
}

} // namespace

settings settings::from_environment()
{
    settings result;
    log_level level = log_threshold;
    read_choice<log_level>("SOFTRDMA_LOG",
                           {{"error", log_level::error},
                            {"warn", log_level::warn},
                            {"info", log_level::info},
                            {"debug", log_level::debug}},
                           level);
    log_threshold = level;

    result.eager = limits::bounce_bytes;
    read_number("SOFTRDMA_DEVICES", 1, limits::devices, result.devices);
    read_choice<bool>("SOFTRDMA_LINK", {{"ib", false}, {"eth", true}}, result.ethernet);
    read_choice<bool>("SOFTRDMA_ONLY",
                      {{"no", false}, {"yes", true}, {"0", false}, {"1", true}},
                      result.only);
    read_choice<bool>("SOFTRDMA_CMA", {{"auto", true}, {"off", false}}, result.cma);
    read_number("SOFTRDMA_YIELD", 0, 1000000, result.yield);
    read_number("SOFTRDMA_EAGER", 0, limits::bounce_bytes, result.eager);
    read_number("SOFTRDMA_LOCKED", 0, 1u << 20, result.locked);
    read_domain("SOFTRDMA_DOMAIN", result.domain);
    read_faults("SOFTRDMA_FAULT", result.faults);
    read_fabric("SOFTRDMA_FABRIC", result.fabric);
    return result;
}

} // namespace softrdma
