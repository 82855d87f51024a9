// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_info: what the transport be would use on this machine, and why not the rest.
 *
 * Exit status: 0 a port is usable and UCX's release is the one built for; 1 not so;
 * 2 bad usage or a bad configuration variable.
 */
#include "tools/info/print.hpp"

#include "be_config.h"

#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

namespace {

constexpr int exit_not_usable = 1;
constexpr int exit_bad_input  = 2;

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{
            "Shows the devices that the transport be finds, which port it uses and why, "
            "and whether this UCX is the release it was built for.",
            "be_info"};
    bool json = false;
    bool used = false;

    auto *json_flag = app.add_flag("-j,--json", json, "print JSON");
    app.add_flag("-u,--used", used,
                 "print only the port in use: device, netdev, kind, reason")
            ->excludes(json_flag);
    app.set_version_flag("--version", "be_info " PACKAGE_VERSION);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_bad_input;
    }

    try {
        using namespace be::tools;
        const Report report = collect_report();

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
