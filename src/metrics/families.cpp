// SPDX-License-Identifier: BSD-3-Clause

#include "metrics/families.hpp"

#include "be_config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace be::metrics {
namespace {

using core::StatsMetric;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// The histogram of recoveries: its buckets, its sum and its count are metrics of their own elsewhere.
constexpr std::string_view histogram_sum   = "recovery_time";
constexpr std::string_view histogram_count = "recoveries";
constexpr std::string_view bucket_prefix = "recovery_time_below_"; // then a number, "us"

constexpr double ns_per_second = 1e9;
constexpr double us_per_second = 1e6;

bool drop_suffix(std::string &text, std::string_view suffix)
{
    const bool there = text.ends_with(suffix);
    text.resize(text.size() - (there ? suffix.size() : 0));
    return there;
}

double scaled(const StatsMetric &metric)
{
    const auto value = static_cast<double>(metric.value);
    return metric.unit == "ns" ? value / ns_per_second : value;
}

MetricFamily &family_of(std::vector<MetricFamily> &all, const std::string &name,
                        const std::string &help, MetricType type)
{
    const auto found = std::find_if(all.begin(), all.end(), [&](const MetricFamily &one) {
        return one.name == name;
    });
    if (found != all.end()) {
        return *found;
    }
    MetricFamily &added = all.emplace_back();
    added.name          = name;
    added.help          = help;
    added.type          = type;
    return added;
}

void add_bucket(ClientMetric::Histogram &histogram, const StatsMetric &metric)
{
    std::uint64_t bound_us = 0;
    const char *begin      = metric.name.data() + bucket_prefix.size();
    if (metric.name.starts_with(bucket_prefix) &&
        std::from_chars(begin, metric.name.data() + metric.name.size(), bound_us).ec ==
                std::errc()) {
        histogram.bucket.push_back(
                {metric.value, static_cast<double>(bound_us) / us_per_second});
    }
}

ClientMetric series(const std::vector<ClientMetric::Label> &labels)
{
    ClientMetric metric;
    metric.label = labels;
    return metric;
}

void add_interface(std::vector<MetricFamily> &all, const core::StatsView &interface,
                   const std::vector<ClientMetric::Label> &labels)
{
    ClientMetric recoveries = series(labels);
    for (const StatsMetric &metric : interface.metrics) {
        if (metric.kind == StatsMetric::Kind::bucket) {
            add_bucket(recoveries.histogram, metric);
            continue;
        }
        if (metric.name == histogram_sum) {
            recoveries.histogram.sample_sum = scaled(metric);
            continue;
        }
        if (metric.name == histogram_count) {
            recoveries.histogram.sample_count = metric.value;
            continue;
        }
        const bool total  = metric.kind == StatsMetric::Kind::total;
        ClientMetric &one = family_of(all, family_name(metric), metric.help,
                                      total ? MetricType::Counter : MetricType::Gauge)
                                    .metric.emplace_back(series(labels));
        (total ? one.counter.value : one.gauge.value) = scaled(metric);
    }
    recoveries.histogram.bucket.push_back(
            {recoveries.histogram.sample_count, std::numeric_limits<double>::infinity()});
    family_of(all, "be_recovery_seconds",
              "from the failure of a peer's queue pairs until data flowed again",
              MetricType::Histogram)
            .metric.push_back(std::move(recoveries));
}

} // namespace

std::string family_name(const StatsMetric &metric)
{
    std::string name = metric.name;
    if (metric.unit == "ns") {
        (void)drop_suffix(name, "_time");
        name += "_seconds";
    } else if (metric.unit == "bytes") {
        if (name.starts_with("bytes_")) {
            name.erase(0, 6);
        }
        name += "_bytes";
    }
    return "be_" + name + (metric.kind == StatsMetric::Kind::total ? "_total" : "");
}

std::vector<MetricFamily> families(const std::vector<core::StatsView> &interfaces)
{
    std::vector<MetricFamily> all;
    ClientMetric build = series({{"version", PACKAGE_VERSION}});
    build.gauge.value  = 1;
    family_of(all, "be_build_info", "always 1; the release is a label", MetricType::Gauge)
            .metric.push_back(std::move(build));
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        add_interface(all, interfaces[i],
                      {{"device", interfaces[i].device},
                       {"interface", std::to_string(i)}});
    }
    return all;
}

} // namespace be::metrics
