// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/perf/measure.hpp"

#include <string>
#include <vector>

namespace be::tools {

/** Medians of the runs, and of the pairs' ratios with a 95 % confidence interval. */
std::string to_table(const PerfOptions &options, const std::vector<Run> &runs);

/** One line a run. */
std::string to_csv(const std::vector<Run> &runs);

/** Everything; "schema_version" counts incompatible changes. */
std::string to_json(const PerfOptions &options, const std::vector<Run> &runs);

/**
 * For gnuplot: an SVG file of the latencies' distributions side by side.
 *
 * @throws std::runtime_error when gnuplot is missing or fails.
 */
void plot(const PerfOptions &options, const std::vector<Run> &runs,
          const std::string &file);

} // namespace be::tools
