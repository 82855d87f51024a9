// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_info: what the transport be would use on this machine, and why not the rest.
 *
 * Exit status: 0 a port is usable and UCX's release is the one built for; 1 not so, or
 * --doctor has found a problem, or --stats no counters; 2 bad usage or a bad configuration variable.
 */
#include "tools/doctor/advice.hpp"
#include "tools/doctor/metrics.hpp"
#include "tools/info/print.hpp"
#include "tools/stats/stats.hpp"

#include "be_config.h"

#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

namespace {

constexpr int exit_not_usable = 1;
constexpr int exit_bad_input  = 2;

int print_stats(unsigned process, bool json)
{
    using namespace be::tools;
    const auto folder = stats_folder();
    const auto stats  = read_stats(folder, process);

    if (json) {
        std::cout << to_json(stats);
    } else if (!stats.empty()) {
        std::cout << to_text(stats, true);
    }
    if (stats.empty()) {
        std::cerr
                << "be_info: process " << process << " has no counters in "
                << folder.string()
                << ": expected a process of this user that uses be (and UCX_BE_STATS as "
                   "it has)\n";
        return exit_not_usable;
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{
            "Shows the devices that the transport be finds, which port it uses and why, "
            "and whether this UCX is the release it was built for.",
            "be_info"};
    bool json        = false;
    bool used        = false;
    bool doctor      = false;
    unsigned process = 0;

    auto *json_flag = app.add_flag("-j,--json", json, "print JSON");
    app.add_flag("-u,--used", used,
                 "print only the port in use: device, netdev, kind, reason")
            ->excludes(json_flag);
    app.add_flag("-d,--doctor", doctor,
                 "say what to change on this machine so that the transport works and is "
                 "fast")
            ->excludes("--used");
    app.add_option(
               "-s,--stats", process,
               "print what the process with this id has counted so far, and the state of "
               "its peers")
            ->excludes("--used", "--doctor")
            ->check(CLI::PositiveNumber)
            ->type_name("PID");
    app.set_version_flag("--version", "be_info " PACKAGE_VERSION);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_bad_input;
    }

    try {
        using namespace be::tools;
        if (process != 0) {
            return print_stats(process, json);
        }
        const Report report = collect_report();

        if (doctor) {
            Machine machine = inspect_machine(report.devices.ports);
            inspect_metrics(machine, report.modules);
            const auto advice = advise(report, machine);
            std::cout << (json ? to_json(advice) : to_text(advice));
            return any_problem(advice) ? exit_not_usable : EXIT_SUCCESS;
        }
        std::cout << (json ? to_json(report) :
                      used ? used_line(report) :
                             to_text(report));
        return (report.used_port() != nullptr && report.ucx_matches()) ? EXIT_SUCCESS :
                                                                         exit_not_usable;
    } catch (const std::exception &error) {
        std::cerr << "be_info: " << error.what() << "\n";
        return exit_bad_input;
    }
}
