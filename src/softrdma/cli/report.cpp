// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/report.h"

#include "softrdma/counters.h"

#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

namespace softrdma::cli {
namespace {

constexpr int name_width = 34;

using json = nlohmann::ordered_json;

json port_header(const port_view &view)
{
    return {{"pid", view.owner->pid},
            {"command", view.owner->command},
            {"device", device_name(view.device)},
            {"port", 1},
            {"state", port_state(*view.port)}};
}

std::string labels(const port_view &view)
{
    std::string command;
    for (char c : view.owner->command) {
        if ((c == '"') || (c == '\\')) {
            command += '\\';
        }
        command += c;
    }
    return "{device=\"" + device_name(view.device) + "\",port=\"1\",pid=\"" +
           std::to_string(view.owner->pid) + "\",command=\"" + command + "\"}";
}

// The faults that last, for a person.
std::string faults_text(const port_shared &port)
{
    uint32_t condition = port.condition.load();
    std::string text;
    auto add = [&](uint32_t bit, const std::atomic<int64_t> &left, const char *name) {
        int64_t count = left.load();
        if (((condition & bit) == 0) || (count == 0)) {
            return;
        }
        text += (text.empty() ? "" : ", ") + std::string(name);
        if (count > 0) {
            text += " (" + std::to_string(count) + " more)";
        }
    };
    add(port_no_receives, port.receives_refused, "no-receives");
    add(port_corrupting, port.arrivals_corrupted, "bit-flip");
    return text.empty() ? "-" : text;
}

} // namespace

std::string shown_name(const std::string &name, uint32_t unit)
{
    constexpr std::string_view suffix = "_data";
    return (unit == 1) ? name : name.substr(0, name.size() - suffix.size()) + "_bytes";
}

std::string counters_text(domain &where, const selection &wanted, bool zeros)
{
    std::ostringstream out;
    for (const port_view &view : where.ports(wanted)) {
        out << device_name(view.device) << " of process " << view.owner->pid << " ("
            << view.owner->command << "), " << port_state(*view.port) << "\n";
        bool any = false;
        for (const counter_view &entry : list_counters(*view.port)) {
            uint64_t value = entry.source->value();
            if ((value != 0) || zeros) {
                any = true;
                out << "  " << std::left << std::setw(name_width)
                    << shown_name(entry.name, entry.unit) << std::right << std::setw(20)
                    << value << "\n";
            }
        }
        out << (any ? "" : "  nothing counted yet\n");
    }
    return out.str();
}

std::string counters_json(domain &where, const selection &wanted)
{
    json ports = json::array();
    for (const port_view &view : where.ports(wanted)) {
        json counters = json::object();
        for (const counter_view &entry : list_counters(*view.port)) {
            counters[shown_name(entry.name, entry.unit)] = entry.source->value();
        }
        json port        = port_header(view);
        port["counters"] = counters;
        ports.push_back(port);
    }
    json report{{"schema_version", schema_version},
                {"domain", where.name()},
                {"ports", ports}};
    return report.dump(2) + "\n";
}

std::string counters_prometheus(domain &where, const selection &wanted)
{
    std::vector<port_view> ports = where.ports(wanted);
    std::ostringstream out;
    if (ports.empty()) {
        return "";
    }
    std::vector<counter_view> list = list_counters(*ports.front().port);
    for (size_t i = 0; i < list.size(); ++i) {
        std::string name = "softrdma_" + shown_name(list[i].name, list[i].unit) +
                           "_total";
        out << "# HELP " << name << " " << list[i].help << ".\n# TYPE " << name
            << " counter\n";
        for (const port_view &view : ports) {
            out << name << labels(view) << " "
                << list_counters(*view.port)[i].source->value() << "\n";
        }
    }
    return out.str();
}

std::string show_text(domain &where)
{
    std::ostringstream out;
    out << std::left << std::setw(9) << "Process" << std::setw(18) << "Command"
        << std::setw(12) << "Device" << std::setw(9) << "State" << std::setw(24)
        << "Faults"
        << "Fabric\n";
    for (const port_view &view : where.ports()) {
        out << std::setw(9) << view.owner->pid << std::setw(18) << view.owner->command
            << std::setw(12) << device_name(view.device) << std::setw(9)
            << port_state(*view.port) << std::setw(24) << faults_text(*view.port)
            << to_string(where.settings(view)) << "\n";
    }
    return out.str();
}

std::string show_json(domain &where)
{
    json ports = json::array();
    for (const port_view &view : where.ports()) {
        json port      = port_header(view);
        port["faults"] = faults_text(*view.port);
        port["fabric"] = to_string(where.settings(view));
        ports.push_back(port);
    }
    json report{{"schema_version", schema_version},
                {"domain", where.name()},
                {"ports", ports}};
    return report.dump(2) + "\n";
}

} // namespace softrdma::cli
