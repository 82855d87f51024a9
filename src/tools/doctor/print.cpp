// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/advice.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace be::tools {

namespace {

constexpr int json_schema_version = 1;

const char *name_of(Level level)
{
    switch (level) {
    case Level::good:
        return "good";
    case Level::hint:
        return "hint";
    case Level::problem:
        return "problem";
    }
    return "?";
}

} // namespace

std::string to_text(const std::vector<Advice> &advice)
{
    std::string text;
    size_t problems = 0;
    size_t hints    = 0;

    for (const Advice &one : advice) {
        problems += one.level == Level::problem;
        hints += one.level == Level::hint;
        text += fmt::format("{:<8} {}: {}\n", name_of(one.level), one.topic, one.found);
        if (!one.change.empty()) {
            text += fmt::format("{:<8} -> {}\n", "", one.change);
        }
    }
    return text + fmt::format("{} problems, {} hints\n", problems, hints);
}

std::string to_json(const std::vector<Advice> &advice)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();

    for (const Advice &one : advice) {
        list.push_back({{"level", name_of(one.level)},
                        {"topic", one.topic},
                        {"found", one.found},
                        {"change", one.change}});
    }
    const nlohmann::ordered_json object = {{"schema_version", json_schema_version},
                                           {"problem", any_problem(advice)},
                                           {"advice", list}};
    return object.dump(2) + "\n";
}

} // namespace be::tools
