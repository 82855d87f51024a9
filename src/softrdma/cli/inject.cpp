// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/inject.h"

#include "softrdma/cli/select.h"
#include "softrdma/key_values.h"

#include <iomanip>
#include <sstream>

namespace softrdma::cli {
namespace {

// The process that a queue pair number belongs to, or all that are selected.
std::vector<process_view> targets(domain &where, pid_t pid, const fault &wanted)
{
    where.ports({pid, wanted.device}); // refuses what is not there
    std::vector<process_view> result;
    for (const process_view &process : where.processes()) {
        bool owns = (wanted.qpn == 0) ||
                    ((wanted.qpn >> limits::qp_bits) == process.slot);
        if (owns && ((pid == 0) || (pid == process.pid))) {
            result.push_back(process);
        }
    }
    if (result.empty()) {
        throw std::runtime_error(
                (wanted.qpn != 0) ?
                        "queue pair number " + std::to_string(wanted.qpn) +
                                ": none of the selected processes has it" :
                        "no process uses the device in domain \"" + where.name() + "\"");
    }
    return result;
}

const char *unit_of(fault_kind kind)
{
    return (kind == fault_kind::qp_error) ? "queue pair" :
           (kind == fault_kind::stall)    ? "process" :
                                            "port";
}

} // namespace

std::string inject(const std::string &domain_name, const std::vector<std::string> &words)
{
    std::vector<std::string> rest = words;
    selection chosen              = take_selection(rest);
    fault wanted;
    std::string error;
    if (!parse_fault(rest, wanted, error)) {
        throw bad_input(error);
    }
    wanted.device = chosen.device;

    domain where(domain_name);
    std::ostringstream out;
    int hits = 0;
    for (const process_view &process : targets(where, chosen.pid, wanted)) {
        int hit = where.order(process, wanted);
        hits += hit;
        out << to_string(wanted.kind) << " on process " << process.pid << " ("
            << process.command << "): ";
        if (wanted.after_ns != 0) {
            out << "scheduled\n";
        } else {
            out << hit << " " << unit_of(wanted.kind) << ((hit == 1) ? "" : "s") << "\n";
        }
    }
    if (hits == 0) {
        throw std::runtime_error(
                (wanted.qpn != 0) ?
                        "queue pair number " + std::to_string(wanted.qpn) +
                                ": it does not exist, or is not connected" :
                        std::string(to_string(wanted.kind)) + ": there was no " +
                                unit_of(wanted.kind) + " to hit");
    }
    return out.str();
}

std::string fault_help()
{
    std::ostringstream out;
    out << "Faults, and what they take as KEY=VALUE (pid and device select; * needed):\n";
    for (const fault_info &info : fault_kinds()) {
        std::string keys;
        for (const std::string &key : split(info.keys, ' ')) {
            keys += " " + key + ((key == info.required) ? "*" : "");
        }
        out << "  " << std::left << std::setw(18) << info.name << info.help << ";" << keys
            << " pid\n";
    }
    return out.str();
}

} // namespace softrdma::cli
