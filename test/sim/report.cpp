// SPDX-License-Identifier: BSD-3-Clause

#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "be_config.h"

namespace be::sim {

namespace {

std::string number(double value, const char *format)
{
    char text[32];

    if (std::isnan(value)) {
        return "-";
    }
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

nlohmann::json json_of(double value)
{
    return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
}

nlohmann::json json_of(const Percentiles &values)
{
    return {{"p50", json_of(values.p50)},
            {"p99", json_of(values.p99)},
            {"count", values.count}};
}

nlohmann::json json_of(const Result &result)
{
    return {{"scenario", result.scenario},
            {"policy", result.policy},
            {"finished", result.finished},
            {"goodput", json_of(result.goodput)},
            {"jain", json_of(result.jain)},
            {"transfer_us", json_of(result.transfer_us)},
            {"victim_us", json_of(result.victim_us)},
            {"idle_us", json_of(result.idle_us)},
            {"pauses", result.pauses},
            {"pause_us", result.pause_us},
            {"rnr_naks", result.rnr},
            {"max_ingress_bytes", result.max_ingress},
            {"max_buffer_bytes", result.max_buffer},
            {"cells", result.driver.cells},
            {"notices", result.driver.notices},
            {"revokes", result.driver.revokes},
            {"late", result.driver.late},
            {"suspects", result.driver.suspects},
            {"max_messages_granted", result.driver.max_messages},
            {"max_bytes_granted", result.driver.max_bytes},
            {"stall_message_credit_ns", result.driver.stall_ns[0]},
            {"stall_byte_credit_ns", result.driver.stall_ns[1]},
            {"stall_window_ns", result.driver.stall_ns[2]},
            {"events", result.events},
            {"seconds", result.seconds},
            {"note", result.note}};
}

} // namespace

void print_table_head(std::ostream &out)
{
    out << "| scenario | policy | pauses | RNR | goodput % | Jain | transfer p50/p99 us "
           "| victim p50/p99 us | p99/idle | ingress KiB | granted KiB | note |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
}

void print_table_row(std::ostream &out, const Result &result)
{
    out << "| " << result.scenario << " | " << result.policy << " | " << result.pauses
        << " | " << result.rnr << " | " << number(100 * result.goodput, "%.1f") << " | "
        << number(result.jain, "%.4f") << " | " << number(result.transfer_us.p50, "%.4g")
        << "/" << number(result.transfer_us.p99, "%.4g") << " | "
        << number(result.victim_us.p50, "%.1f") << "/"
        << number(result.victim_us.p99, "%.1f") << " | "
        << number(result.victim_ratio(), "%.1f") << " | " << (result.max_ingress >> 10)
        << " | " << (result.driver.max_bytes >> 10) << " | "
        << (result.finished ? "" : "NOT FINISHED ") << result.note << " |" << std::endl;
}

void print_json(std::ostream &out, const Run &run)
{
    nlohmann::json document{{"schema_version", 1},
                            {"program", "be_sim " PACKAGE_VERSION},
                            {"seed", run.seed},
                            {"results", nlohmann::json::array()}};

    for (const Result &result : run.results) {
        document["results"].push_back(json_of(result));
    }
    out << document.dump(2) << "\n";
}

void write_plot(const std::string &prefix, const Run &run)
{
    std::ofstream data(prefix + ".dat"), script(prefix + ".gp");
    std::vector<std::string> policies, names;

    if (!data || !script) {
        throw std::runtime_error("the plot '" + prefix +
                                 ".dat' or '.gp' cannot be written");
    }
    for (const Result &result : run.results) {
        if (std::find(policies.begin(), policies.end(), result.policy) ==
            policies.end()) {
            policies.push_back(result.policy);
        }
        if (std::find(names.begin(), names.end(), result.scenario) == names.end()) {
            names.push_back(result.scenario);
        }
    }

    /* A block for each policy: scenario, goodput, pauses, victim p99. */
    for (const std::string &policy : policies) {
        data << "# " << policy << "\n";
        for (const Result &result : run.results) {
            if (result.policy == policy) {
                data << '"' << result.scenario << "\" "
                     << number(100 * result.goodput, "%g") << " " << result.pauses << " "
                     << number(result.victim_us.p99, "%g") << "\n";
            }
        }
        data << "\n\n";
    }

    script << "set terminal svg size " << 400 + 40 * names.size() << ",900\n"
           << "set output '" << prefix << ".svg'\n"
           << "set datafile missing '-'\nset style data linespoints\n"
           << "set xtics rotate by -60\nset key outside\nset multiplot layout 3,1\n";
    for (const auto &[title, column] :
         {std::pair{"goodput, %", 2}, std::pair{"PFC pauses", 3},
          std::pair{"p99 of 64 B messages, us", 4}}) {
        script << "set ylabel '" << title << "'\n"
               << ((column == 2) ? "unset logscale y\n" : "set logscale y\n") << "plot";
        for (std::size_t i = 0; i < policies.size(); ++i) {
            script << (i == 0 ? " " : ", ") << "'" << prefix << ".dat' index " << i
                   << " using " << column << ":xtic(1) title '" << policies[i] << "'";
        }
        script << "\n";
    }
}

} // namespace be::sim
