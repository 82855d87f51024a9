// SPDX-License-Identifier: BSD-3-Clause
//
// Results as a table for people, JSON for programs, and data with a gnuplot script.

#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "result.hpp"

namespace be::sim {

struct Run {
    uint64_t seed = 0;
    std::vector<Result> results;
};

/* The table, in Markdown; one row at a time, so that long runs show where they are. */
void print_table_head(std::ostream &out);
void print_table_row(std::ostream &out, const Result &result);

void print_json(std::ostream &out, const Run &run);

/* Writes PREFIX.dat and PREFIX.gp; `gnuplot PREFIX.gp` makes PREFIX.svg. Throws
 * std::runtime_error when a file cannot be written. */
void write_plot(const std::string &prefix, const Run &run);

} // namespace be::sim
