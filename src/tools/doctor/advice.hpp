// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/doctor/machine.hpp"
#include "tools/info/report.hpp"

#include <string>
#include <vector>

namespace be::tools {

enum class Level {
    good, //< nothing to do
    hint, //< works, could be faster
    problem, //< does not work, or much slower than it could be
};

struct Advice {
    Level level;
    std::string topic;
    std::string found;
    std::string change; //< what to do; empty when good
};

/** One entry for each topic that something is known of, in a fixed order. */
std::vector<Advice> advise(const Report &report, const Machine &machine);

/** Whether one of them is a problem. */
bool any_problem(const std::vector<Advice> &advice);

/** For people. */
std::string to_text(const std::vector<Advice> &advice);

/** For programs: one object, "schema_version" counts incompatible changes. */
std::string to_json(const std::vector<Advice> &advice);

} // namespace be::tools
