// SPDX-License-Identifier: BSD-3-Clause
//
// Metrics in Prometheus' names and units: be_ in front, seconds and bytes, totals end in _total. docs/operations.md
// lists them.

#pragma once

#include "core/stats_reader.hpp"

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace be::metrics {

// "bytes_sent", a total in bytes: be_sent_bytes_total.
std::string family_name(const core::StatsMetric &metric);

// One family a name, with one series for each interface.
std::vector<prometheus::MetricFamily>
families(const std::vector<core::StatsView> &interfaces);

} // namespace be::metrics
