// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/report.hpp"

#include "tools/perf/histogram.hpp"
#include "be_config.h"

#include <byteexpress/runtime.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace be::tools {

namespace {

struct Column {
    const char *name;
    const char *unit;
    double Run::*value;
};

constexpr Column columns[] = {
        {"mean", "us", &Run::mean_us},
        {"p50", "us", &Run::p50_us},
        {"p99", "us", &Run::p99_us},
        {"p99.9", "us", &Run::p999_us},
        {"max", "us", &Run::max_us},
        {"CPU per operation", "us", &Run::cpu_us},
        {"operations", "/s", &Run::operations_s},
        {"bodies", "MB/s", &Run::megabytes_s},
        {"copied per operation", "bytes", &Run::copied_bytes},
        {"waited for credit", "us", &Run::credit_us},
        {"waited for byte credit", "us", &Run::bytes_us},
        {"waited for window", "us", &Run::window_us},
        {"receiver not ready", "", &Run::rnr},
        {"registrations", "", &Run::registrations},
        {"pauses", "", &Run::pauses},
};

// NaN: nothing is known.
double median(std::vector<double> values)
{
    if (values.empty()) {
        return Run::unknown;
    }
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return (values.size() % 2 != 0) ? values[middle] :
                                      (values[middle - 1] + values[middle]) / 2;
}

std::vector<double>
values_of(const std::vector<Run> &runs, const std::string &transport, double Run::*member)
{
    std::vector<double> values;
    for (const Run &run : runs) {
        if ((run.transport == transport) && !std::isnan(run.*member)) {
            values.push_back(run.*member);
        }
    }
    return values;
}

struct Ratio {
    double median = 0;
    double low    = 0; // of the confidence interval
    double high   = 0;
};

// 97.5 % point of Student's distribution.
double student(size_t freedom)
{
    constexpr double points[] = {0,     12.71, 4.303, 3.182, 2.776, 2.571,
                                 2.447, 2.365, 2.306, 2.262, 2.228};
    return (freedom < std::size(points)) ? points[freedom] : 1.96 + 2.5 / double(freedom);
}

// Of the i-th run of the one to the i-th of the other; the interval by their logarithms.
Ratio ratio_of(const std::vector<double> &ours, const std::vector<double> &others)
{
    std::vector<double> ratios;
    double sum    = 0;
    double square = 0;
    for (size_t i = 0; i < std::min(ours.size(), others.size()); i++) {
        if ((ours[i] > 0) && (others[i] > 0)) {
            ratios.push_back(ours[i] / others[i]);
            sum += std::log(ratios.back());
            square += std::log(ratios.back()) * std::log(ratios.back());
        }
    }
    const auto n = static_cast<double>(ratios.size());
    if (n < 2) {
        return {ratios.empty() ? Run::unknown : ratios.front(), 0, INFINITY};
    }
    const double mean = sum / n;
    const double half = student(ratios.size() - 1) *
                        std::sqrt(std::max(0.0, square / n - mean * mean) / (n - 1));
    return {median(ratios), std::exp(mean - half), std::exp(mean + half)};
}

std::string title(const Column &column)
{
    return (*column.unit == '\0') ? column.name :
                                    fmt::format("{}, {}", column.name, column.unit);
}

// Blank where nothing is known.
std::string cell(double value, int digits)
{
    return std::isnan(value) ? std::string(12, ' ') :
                               fmt::format("{:>12.{}f}", value, digits);
}

} // namespace

std::string to_table(const PerfOptions &options, const std::vector<Run> &runs)
{
    const bool compare = !options.baseline.empty();
    std::string text   = fmt::format(
              "{}: {} client{}, sizes {}{}, {} of {:g} s each\n", options.workload,
              options.clients, options.clients == 1 ? "" : "s", options.sizes,
            (options.workload == "fetch" || options.workload == "push") ?
                      fmt::format(", {} keys a call", options.keys) :
                      "",
              fmt::format("{} run{}", options.pairs, options.pairs == 1 ? "" : "s"),
              options.seconds);

    text += fmt::format("  {:<30}{:>12}", "", "be");
    if (compare) {
        text += fmt::format("{:>12}{:>12}   {}", options.baseline, "ratio",
                            "95 % interval");
    }
    text += "\n";
    for (const Column &column : columns) {
        const auto ours = values_of(runs, "be", column.value);
        text += fmt::format("  {:<30}{}", title(column), cell(median(ours), 2));
        if (compare) {
            const auto others = values_of(runs, options.baseline, column.value);
            const Ratio ratio = ratio_of(ours, others);
            text += cell(median(others), 2) + cell(ratio.median, 3);
            if (!std::isnan(ratio.median)) {
                text += fmt::format("   {:.3f} - {:.3f}", ratio.low, ratio.high);
            }
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += "\n";
    }
    return text;
}

std::string to_csv(const std::vector<Run> &runs)
{
    std::string text = "transport";
    for (const Column &column : columns) {
        text += *column.unit == '\0' ? fmt::format(",{}", column.name) :
                                       fmt::format(",{} [{}]", column.name, column.unit);
    }
    text += ",failures,corrupted\n";
    for (const Run &run : runs) {
        text += run.transport;
        for (const Column &column : columns) {
            const double value = run.*column.value;
            text += std::isnan(value) ? "," : fmt::format(",{:.3f}", value);
        }
        text += fmt::format(",{},{}\n", run.total.failures, run.total.corrupted);
    }
    return text;
}

std::string to_json(const PerfOptions &options, const std::vector<Run> &runs)
{
    nlohmann::json settings = nlohmann::json::object();
    for (char **at = environ; *at != nullptr; at++) {
        const std::string entry = *at;
        if (entry.starts_with("UCX_") || entry.starts_with("SOFTRDMA_")) {
            settings[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') +
                                                                      1);
        }
    }
    nlohmann::json all = {{"schema_version", 2},  {"tool", "be_perf " PACKAGE_VERSION},
                          {"library", version()}, {"options", options},
                          {"settings", settings}, {"runs", runs}};
    for (const Column &column : columns) {
        const Ratio ratio = ratio_of(values_of(runs, "be", column.value),
                                     values_of(runs, options.baseline, column.value));
        if (!options.baseline.empty() && !std::isnan(ratio.median)) {
            all["ratios"][column.name] = {{"median", ratio.median},
                                          {"low", ratio.low},
                                          {"high", ratio.high}};
        }
    }
    return all.dump(2) + "\n";
}

void plot(const PerfOptions &options, const std::vector<Run> &runs,
          const std::string &file)
{
    std::vector<std::string> transports = {"be"};
    if (!options.baseline.empty()) {
        transports.push_back(options.baseline);
    }
    FILE *gnuplot = popen("gnuplot", "w");
    if (gnuplot == nullptr) {
        throw std::runtime_error("cannot run gnuplot (Debian package gnuplot-nox)");
    }
    std::string script = fmt::format("set terminal svg size 800,500\nset output '{}'\n"
                                     "set title '{}'\nset xlabel 'latency, us'\n"
                                     "set ylabel 'share of operations'\nset logscale x\n"
                                     "set key bottom right\nset grid\nplot",
                                     file, options.workload);
    std::string data;
    for (const std::string &transport : transports) {
        Histogram latency;
        for (const Run &run : runs) {
            if (run.transport == transport) {
                latency.merge_dump(run.total.latency);
            }
        }
        script += fmt::format("{} '-' with steps lw 2 title '{}'",
                              transport == transports.front() ? "" : ",", transport);
        for (unsigned i = 0; i <= 1000; i++) {
            data += fmt::format("{} {}\n", double(latency.percentile(i / 1000.0)) / 1e3,
                                i / 1000.0);
        }
        data += "e\n";
    }
    script += "\n" + data;
    const bool written = fwrite(script.data(), 1, script.size(), gnuplot) ==
                         script.size();
    if ((pclose(gnuplot) != 0) || !written) {
        throw std::runtime_error("gnuplot failed to write '" + file +
                                 "' (Debian package gnuplot-nox)");
    }
}

} // namespace be::tools
