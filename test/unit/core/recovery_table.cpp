// SPDX-License-Identifier: BSD-3-Clause

#include "recovery_table.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace be::test {

namespace {

Names split(const std::string &text)
{
    Names parts;
    std::istringstream in(text);

    for (std::string part; std::getline(in, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

/* One * stands for anything. */
bool fits(const std::string &pattern, const std::string &name)
{
    std::size_t star = pattern.find('*');

    if (star == std::string::npos) {
        return pattern == name;
    }

    std::string tail = pattern.substr(star + 1);

    return (name.size() >= pattern.size() - 1) &&
           (name.compare(0, star, pattern, 0, star) == 0) &&
           (name.compare(name.size() - tail.size(), tail.size(), tail) == 0);
}

Names expand(unsigned line, const std::string &text, const Names &all)
{
    Names found;

    for (const std::string &pattern : split(text)) {
        std::size_t before = found.size();

        std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                     [&](const std::string &name) { return fits(pattern, name); });
        if (found.size() == before) {
            throw std::runtime_error("line " + std::to_string(line) + ": '" + pattern +
                                     "' names nothing");
        }
    }
    return found;
}

bool holds(unsigned line, const std::string &condition, const When &when)
{
    if (condition == "-") {
        return true;
    } else if (condition == "lost") {
        return when.lost;
    } else if (condition == "up") {
        return !when.lost;
    } else if (condition == "device") {
        return when.device;
    } else if (condition == "no_device") {
        return !when.device;
    } else if (condition == "first") {
        return when.first;
    }
    throw std::runtime_error("line " + std::to_string(line) + ": condition '" +
                             condition + "' is unknown");
}

bool contains(const Names &names, const std::string &name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

RecoveryTable::RecoveryTable(std::istream &file, const Names &situations,
                             const Names &events)
{
    unsigned number = 0;

    for (std::string text; std::getline(file, text);) {
        ++number;
        if (text.empty() || (text[0] == '#')) {
            continue;
        }

        std::istringstream in(text);
        std::string from, on, steps, more;
        Row row;


        if (!(in >> from >> on >> row.when >> row.next >> row.epoch >> steps) ||
            (in >> more)) {
            throw std::runtime_error("line " + std::to_string(number) + ": '" + text +
                                     "' has not six words");
        }
        row.line       = number;
        row.situations = expand(number, from, situations);
        row.events     = expand(number, on, events);
        if ((row.next != "=") && (row.next != "impossible")) {
            expand(number, row.next, situations);
        }
        if ((row.epoch != "=") && (row.epoch != "+1") && (row.epoch != "theirs")) {
            throw std::runtime_error("line " + std::to_string(number) + ": epoch '" +
                                     row.epoch + "' is not =, +1 or theirs");
        }
        if (steps != "-") {
            row.steps = split(steps);
        }
        holds(number, row.when, When{});
        m_rows.push_back(std::move(row));
    }
}

const RecoveryTable::Row *RecoveryTable::find(const std::string &situation,
                                              const std::string &event,
                                              const When &when) const
{
    for (const Row &row : m_rows) {
        if (contains(row.situations, situation) && contains(row.events, event) &&
            holds(row.line, row.when, when)) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace be::test
