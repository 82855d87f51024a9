// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_run: runs a command with the transport be loaded into its UCX.
 *
 * Finds the UCX that the command will use and this package's modules, sets the
 * variables that this release of UCX and Open MPI need, and becomes the command, or
 * waits for it (--stats).
 * Exit status: the command's; 127 not found, 126 cannot be run, 125 be_run's own.
 */
#include "tools/run/execute.hpp"
#include "tools/run/modules.hpp"
#include "tools/run/plan.hpp"
#include "tools/run/report_stats.hpp"

#include "be_config.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace be::tools;
namespace fs = std::filesystem;

constexpr int exit_own_failure = 125; // as of env(1) and timeout(1)

Environment current_environment()
{
    Environment environment;

    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals           = text.find('=');
        if (equals != std::string_view::npos) {
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }

    return environment;
}

/* MPICH's launchers have the same names as Open MPI's, and other options. */
bool resolves_to_other_mpi(const std::string &program)
{
    const char *variable    = std::getenv("PATH");
    std::string_view folder = (variable == nullptr) ? "" : variable;
    std::error_code error;
    fs::path file = program;

    while (program.find('/') == std::string::npos && !folder.empty()) {
        const std::string_view first = folder.substr(0, folder.find(':'));
        file                         = fs::path(first) / program;
        if (access(file.c_str(), X_OK) == 0) {
            break;
        }
        folder.remove_prefix(std::min(folder.size(), first.size() + 1));
    }

    const std::string name = fs::canonical(file, error).filename().string();
    return name.find("hydra") != std::string::npos ||
           name.find("mpich") != std::string::npos;
}

bool is_verbs_device(const std::string &name)
{
    std::error_code ignored;
    return name.starts_with("softrdma") ||
           (!name.empty() &&
            fs::exists(fs::path("/sys/class/infiniband") / name, ignored));
}

void describe(const UcxLibrary &ucx, const fs::path &modules, const Plan &plan)
{
    std::cerr << fmt::format("be_run: UCX {} in {}\n", ucx.version.to_string(), ucx.path)
              << fmt::format("be_run: modules in {}\n", modules.string());
    for (const auto &[name, value] : plan.variables) {
        std::cerr << fmt::format("be_run: {}={}\n", name, value);
    }

    std::cerr << "be_run: runs";
    for (const std::string &word : plan.command) {
        std::cerr << " " << word;
    }
    std::cerr << std::endl;
}

class HelpFormatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App *, std::string) const override
    {
        return "Usage: be_run [OPTION...] COMMAND [ARGUMENT...]\n";
    }
};

// Returns only with --stats: the exit status.
int run(const std::string &device, bool verbose, bool stats,
        std::vector<std::string> command)
{
    const UcxLibrary ucx    = find_ucx_library();
    const bool need_preload = ucx.version < plugin_path_since;
    const auto candidates   = module_candidates(fs::read_symlink("/proc/self/exe"),
                                                {BE_BINDIR, BE_MODULEDIR});
    const fs::path modules  = find_modules(candidates, need_preload);

    Request request{ucx.version, modules, name_device(device, is_verbs_device(device)),
                    std::move(command)};
    const bool launcher = is_open_mpi_launcher(request.command.front()) &&
                          !resolves_to_other_mpi(request.command.front());
    Plan plan = make_plan(request, current_environment(), launcher);

    for (const std::string &warning : plan.warnings) {
        std::cerr << "be_run: warning: " << warning << "\n";
    }
    if (verbose) {
        describe(ucx, modules, plan);
    }
    if (stats) {
        return run_and_report(plan);
    }
    execute(plan);
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"Runs COMMAND with the transport be loaded into its UCX "
                 "(UCX_TLS=be,self unless "
                 "set). For Open MPI's launchers the variables are also handed on to the "
                 "ranks."};
    std::string device;
    bool verbose = false;
    bool stats   = false;

    app.formatter(std::make_shared<HelpFormatter>());
    app.add_option("-d,--device", device,
                   "use only this device, port or network interface (see be_info)");
    app.add_flag("-v,--verbose", verbose, "say what was found and what is set");
    app.add_flag("-s,--stats", stats,
                 "after the command, print what its processes on this machine have "
                 "counted (stderr)");
    app.set_version_flag("--version", "be_run " PACKAGE_VERSION);
    app.prefix_command();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_own_failure;
    }

    std::vector<std::string> command = app.remaining();
    if (!command.empty() && command.front() == "--") {
        command.erase(command.begin());
    } else if (!command.empty() && command.front().starts_with('-')) {
        std::cerr << fmt::format("be_run: unknown option '{}' (see be_run --help)\n",
                                 command.front());
        return exit_own_failure;
    }
    if (command.empty()) {
        std::cerr << "be_run: no command given (see be_run --help)\n";
        return exit_own_failure;
    }

    try {
        return run(device, verbose, stats, std::move(command));
    } catch (const std::exception &error) {
        std::cerr << "be_run: " << error.what() << "\n";
    }
    return exit_own_failure;
}
