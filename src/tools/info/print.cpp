// SPDX-License-Identifier: BSD-3-Clause
#include "tools/info/print.hpp"
#include "tools/run/modules.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace be::tools {

namespace {

constexpr int json_schema_version = 1;
constexpr double bits_per_byte    = 8;
constexpr double giga             = 1e9;

using Row = std::array<std::string, 7>;

Row describe(const verbs::PortReport &port)
{
    return {(port.port == 0) ? port.device : fmt::format("{}:{}", port.device, port.port),
            port.netdev.empty() ? "-" : port.netdev,
            port.soft ? "software" : verbs::to_string(port.link_layer),
            (port.port == 0) ? "-" : verbs::to_string(port.state),
            (port.rate == 0) ?
                    "-" :
                    fmt::format("{:.0f} Gb/s", port.rate * bits_per_byte / giga),
            (port.numa_node < 0) ? "-" : std::to_string(port.numa_node),
            port.usable ? "yes" : "no"};
}

std::string port_table(const verbs::Discovery &devices)
{
    std::vector<Row> rows{{"Device", "Netdev", "Link", "State", "Rate", "NUMA", "Used"}};
    std::array<size_t, std::tuple_size_v<Row>> widths{};
    std::string text;

    for (const verbs::PortReport &port : devices.ports) {
        rows.push_back(describe(port));
    }
    for (const Row &row : rows) {
        for (size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }

    for (size_t n = 0; n < rows.size(); ++n) {
        std::string line;
        for (size_t i = 0; i < widths.size(); ++i) {
            line += fmt::format("{:<{}}  ", rows[n][i], widths[i]);
        }
        text += line + ((n == 0) ? "Why" : devices.ports[n - 1].reason) + "\n";
    }

    return text;
}

std::string ucx_line(const Report &report)
{
    if (!report.ucx) {
        return report.ucx_problem;
    }

    const std::string found = fmt::format("{} ({})", report.ucx->version.to_string(),
                                          report.ucx->path);
    if (report.built_for.empty()) {
        return found + "; this package was built without the transport";
    }
    if (!report.ucx_matches()) {
        return fmt::format(
                "{}; the transport was built for {} and stays out of any other", found,
                report.built_for);
    }

    return fmt::format("{}; the transport was built for {}", found, report.built_for);
}

} // namespace

std::string to_text(const Report &report)
{
    const bool plugin_path = report.ucx && report.ucx->version >= plugin_path_since;
    std::string text;

    text += fmt::format("ByteExpress for UCX {}\n", report.package_version);
    text += fmt::format("UCX:         {}\n", ucx_line(report));
    text += fmt::format("Modules:     {}\n",
                        report.modules.empty() ? report.modules_problem : report.modules);
    if (!report.modules.empty()) {
        text += fmt::format("Loaded by:   {}{}{} (be_run sets it)\n",
                            plugin_path ? "UCX_PLUGIN_PATH=" : "LD_PRELOAD=",
                            report.modules,
                            plugin_path ? "" : fmt::format("/{}", preload_file));
    }
    text += fmt::format("Soft device: UCX_BE_SOFT={}\n", to_string(report.soft_mode));
    text += fmt::format("In use:      {}\n\n", report.devices.reason);
    text += report.devices.ports.empty() ? "No RDMA device.\n" :
                                           port_table(report.devices);
    return text;
}

std::string to_json(const Report &report)
{
    nlohmann::ordered_json ports = nlohmann::ordered_json::array();

    for (const verbs::PortReport &port : report.devices.ports) {
        ports.push_back({{"device", port.device},
                         {"port", port.port},
                         {"netdev", port.netdev},
                         {"software", port.soft},
                         {"link_layer", verbs::to_string(port.link_layer)},
                         {"state", verbs::to_string(port.state)},
                         {"rate_bytes_per_second", port.rate},
                         {"numa_node", port.numa_node},
                         {"used", port.usable},
                         {"reason", port.reason}});
    }

    const nlohmann::ordered_json object = {
            {"schema_version", json_schema_version},
            {"version", report.package_version},
            {"ucx",
             {{"version", report.ucx ? report.ucx->version.to_string() : ""},
              {"library", report.ucx ? report.ucx->path : ""},
              {"built_for", report.built_for},
              {"matches", report.ucx_matches()}}},
            {"modules", report.modules},
            {"soft_mode", to_string(report.soft_mode)},
            {"reason", report.devices.reason},
            {"ports", ports}};
    return object.dump(2) + "\n";
}

std::string used_line(const Report &report)
{
    const verbs::PortReport *port = report.used_port();
    if (port == nullptr) {
        return "";
    }

    return fmt::format("{}:{}\t{}\t{}\t{}\n", port->device, port->port, port->netdev,
                       port->soft ? "software" : "hardware", report.devices.reason);
}

} // namespace be::tools
