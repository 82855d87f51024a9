// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_perf: how fast services are over the transport, and beside another one.
 *
 * Exit status: 0 measured; 1 operations failed, content was wrong, or a soak grew; 2 bad usage; 3 it
 * could not be measured.
 */
#include "tools/perf/measure.hpp"
#include "tools/perf/report.hpp"
#include "tools/perf/roles.hpp"
#include "tools/perf/sizes.hpp"

#include "be_config.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include <CLI/CLI.hpp>

namespace {

using namespace be::tools;

constexpr int exit_wrong      = 1;
constexpr int exit_bad_input  = 2;
constexpr int exit_no_measure = 3;

struct Arguments {
    PerfOptions options;
    std::string format = "table";
    std::string plot_file;
    std::string as_server;
    std::string as_client;
    unsigned number = 0;
    std::string server;
};

void define(CLI::App &app, Arguments &arguments)
{
    PerfOptions &options = arguments.options;

    app.add_option(
               "workload", options.workload,
               "fetch: pull batches of parameters; push: many workers push to one "
               "server; incast: large messages to one server; rpc: small calls; mixed: "
               "small calls beside large messages; soak: all of that for as long as "
               "--duration "
               "says, where no process may grow")
            ->check(CLI::IsMember({"fetch", "push", "incast", "rpc", "mixed", "soak"}));
    app.add_option("--baseline", options.baseline,
                   "measure this UCX transport too, in turns, and print ratios: tcp");
    app.add_option("--pairs,--runs", options.pairs, "runs of each transport (5, soak 1)")
            ->check(CLI::Range(1, 1000));
    app.add_option("-d,--duration", options.seconds, "seconds of a run")
            ->check(CLI::Range(0.01, 86400.0))
            ->capture_default_str();
    app.add_option("--warm-up", options.warm_up, "seconds before a run")
            ->check(CLI::Range(0.0, 3600.0))
            ->capture_default_str();
    app.add_option("-c,--clients", options.clients,
                   "client processes (push and incast 15, mixed 3, soak 2, else 1)")
            ->check(CLI::Range(1, 1000));
    app.add_option("-k,--keys", options.keys, "keys of a batch")
            ->check(CLI::Range(1, 1000000))
            ->capture_default_str();
    app.add_option("--table", options.table, "keys that the server of fetch has")
            ->check(CLI::Range(1, 100000000))
            ->capture_default_str();
    app.add_option(
            "-s,--sizes", options.sizes,
            "bytes of values or bodies: SIZE, uniform:LOW-HIGH, lognormal:LOW-HIGH, "
            "zipf:LOW-HIGH, trace:FILE (fetch, push and soak lognormal:256-64k, rpc 64, "
            "else 1m)");
    app.add_option(
               "-r,--rate", options.rate,
               "open loop: operations a second of each client; latency counts from the "
               "time that an operation should have begun")
            ->check(CLI::Range(0.0, 1e9));
    app.add_option("--progress", options.progress, "polling, event or adaptive")
            ->check(CLI::IsMember({"polling", "event", "adaptive"}))
            ->capture_default_str();
    app.add_option("--spin", options.spin_us, "adaptive: microseconds before sleeping")
            ->check(CLI::Range(0, 1000000))
            ->capture_default_str();
    app.add_option("--seed", options.seed, "of sizes and keys")->capture_default_str();
    app.add_option("--address", options.address, "where the server listens")
            ->capture_default_str();
    app.add_option("--max-growth", options.growth,
                   "soak: resident memory that a process may gain after the warm-up")
            ->capture_default_str();
    app.add_flag("!--no-verify", options.verify, "do not look at the content");
    app.add_option("--format", arguments.format, "table, csv or json")
            ->check(CLI::IsMember({"table", "csv", "json"}))
            ->capture_default_str();
    app.add_option("--plot", arguments.plot_file,
                   "draw the distributions to this SVG file (needs gnuplot)");
    // how be_perf starts itself
    app.add_option("--as-server", arguments.as_server)->group("");
    app.add_option("--as-client", arguments.as_client)->group("");
    app.add_option("--number", arguments.number)->group("");
    app.add_option("--server", arguments.server)->group("");
    app.set_version_flag("--version", "be_perf " PACKAGE_VERSION);
}

// Says so.
bool grown(const PerfOptions &options, const Run &run)
{
    constexpr uint64_t descriptors_allowed = 16;

    if (options.workload != "soak") {
        return false;
    }
    const uint64_t allowed = parse_size(options.growth);
    const bool too_much    = (run.total.memory_growth > allowed) ||
                          (run.total.descriptor_growth > descriptors_allowed);
    std::cerr << "be_perf: " << run.transport << ": a process gained up to "
              << run.total.memory_growth << " bytes and " << run.total.descriptor_growth
              << " descriptors"
              << (too_much ? ": expected at most " + std::to_string(allowed) + " and " +
                                     std::to_string(descriptors_allowed) :
                             "")
              << "\n";
    return too_much;
}

int measure_and_report(Arguments &arguments)
{
    const auto self      = std::filesystem::read_symlink("/proc/self/exe").string();
    const bool on_screen = isatty(STDERR_FILENO) != 0;
    unsigned done        = 0;
    const auto runs      = measure_all(arguments.options, self, [&](const Run &run) {
        if (on_screen) {
            std::cerr << "\r  run " << ++done << ": " << run.transport << " "
                      << run.mean_us << " us     " << std::flush;
        }
    });
    if (on_screen) {
        std::cerr << "\r" << std::string(40, ' ') << "\r";
    }
    std::cout << (arguments.format == "json" ? to_json(arguments.options, runs) :
                  arguments.format == "csv"  ? to_csv(runs) :
                                               to_table(arguments.options, runs));
    if (!arguments.plot_file.empty()) {
        plot(arguments.options, runs, arguments.plot_file);
    }
    int status = EXIT_SUCCESS;
    for (const Run &run : runs) {
        if ((run.total.corrupted != 0) || (run.total.failures != 0)) {
            std::cerr << "be_perf: " << run.transport << ": " << run.total.corrupted
                      << " values with wrong content, " << run.total.failures
                      << " operations failed " << run.total.problem << "\n";
            status = exit_wrong;
        }
        if (grown(arguments.options, run)) {
            status = exit_wrong;
        }
    }
    return status;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{
            "Measures services over the transport be, beside another one if asked to: "
            "latency, CPU, throughput.",
            "be_perf"};
    Arguments arguments;
    define(app, arguments);
    signal(SIGPIPE, SIG_IGN);
    try {
        app.parse(argc, argv);
        if (!arguments.as_server.empty()) {
            return run_server(
                    nlohmann::json::parse(arguments.as_server).get<PerfOptions>());
        }
        if (!arguments.as_client.empty()) {
            return run_client(
                    nlohmann::json::parse(arguments.as_client).get<PerfOptions>(),
                    arguments.number, arguments.server);
        }
        if (arguments.options.workload.empty()) {
            throw CLI::RequiredError(
                    "workload (fetch, push, incast, rpc, mixed or soak)");
        }
        arguments.options.complete();
        return measure_and_report(arguments);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_bad_input;
    } catch (const std::invalid_argument &error) {
        std::cerr << "be_perf: " << error.what() << "\n";
        return exit_bad_input;
    } catch (const std::exception &error) {
        std::cerr << "be_perf: " << error.what() << "\n";
        return exit_no_measure;
    }
}
