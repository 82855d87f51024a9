// SPDX-License-Identifier: BSD-3-Clause
//
// test/model/recovery.table as a function from (situation, event, conditions) to what is to
// happen. The names of situations and events are given to it; what the table says of others,
// or cannot be read, throws std::runtime_error with the line.

#pragma once

#include <istream>
#include <string>
#include <vector>

namespace be::test {

using Names = std::vector<std::string>;

/* Conditions before the event. */
struct When {
    bool lost;
    bool device;
    bool first;
};

class RecoveryTable {
public:
    struct Row {
        unsigned line = 0;
        Names situations;
        Names events;
        std::string when;
        std::string next; /* a situation, or "impossible" */
        std::string epoch; /* =, +1 or theirs */
        Names steps;
    };

    RecoveryTable(std::istream &file, const Names &situations, const Names &events);

    /* The row that counts; null if there is none. */
    const Row *
    find(const std::string &situation, const std::string &event, const When &when) const;

    const std::vector<Row> &rows() const
    {
        return m_rows;
    }

private:
    std::vector<Row> m_rows;
};

} // namespace be::test
