// SPDX-License-Identifier: BSD-3-Clause
/*
 * softrdma: looks at the software RDMA device of this user's processes and makes it fail on command.
 *
 * Exit status: 0 done; 1 it could not be done; 2 bad usage.
 */
#include "softrdma/cli/domain.h"
#include "softrdma/cli/inject.h"
#include "softrdma/cli/report.h"
#include "softrdma/cli/select.h"
#include "softrdma/cli/shape.h"
#include "softrdma/cli/watch.h"
#include "softrdma/quantity.h"

#include "be_config.h"

#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

namespace {

using namespace softrdma;
using namespace softrdma::cli;

constexpr int exit_failed    = 1;
constexpr int exit_bad_input = 2;

struct arguments {
    std::string domain_name = "default";
    std::string device;
    int pid      = 0;
    bool json    = false;
    bool zeros   = false;
    bool metrics = false;
    std::string folder;
    std::string interval = "1s";
    uint64_t rounds      = 0;
    std::vector<std::string> words;

    selection wanted() const
    {
        selection result;
        result.pid = pid;
        if (!device.empty()) {
            std::optional<uint32_t> number = parse_device(device);
            if (!number.has_value()) {
                throw bad_input("--device " + device + ": expected " + expected_device);
            }
            result.device = *number;
        }
        return result;
    }
};

void add_selection(CLI::App &command, arguments &given)
{
    command.add_option("-p,--pid", given.pid, "only this process")
            ->check(CLI::PositiveNumber);
    command.add_option("-d,--device", given.device, "only this device, as softrdma0");
}

void run_show(const arguments &given)
{
    domain where(given.domain_name);
    std::cout << (given.json ? show_json(where) : show_text(where));
}

void run_counters(const arguments &given)
{
    selection wanted = given.wanted();
    domain where(given.domain_name);
    if (!given.folder.empty()) {
        export_counters(where, given.folder);
        return;
    }
    std::cout << (given.json    ? counters_json(where, wanted) :
                  given.metrics ? counters_prometheus(where, wanted) :
                                  counters_text(where, wanted, given.zeros));
}

void run_watch(const arguments &given)
{
    watch_options options;
    options.wanted                   = given.wanted();
    options.rounds                   = given.rounds;
    options.json                     = given.json;
    options.folder                   = given.folder;
    std::optional<uint64_t> interval = parse_duration(given.interval);
    if (!interval.has_value() || (*interval == 0)) {
        throw bad_input("--interval " + given.interval + ": expected " +
                        expected_duration);
    }
    options.interval_ns = *interval;
    domain where(given.domain_name);
    watch(where, options);
}

void define_commands(CLI::App &app, arguments &given)
{
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("-D,--domain", given.domain_name, "as SOFTRDMA_DOMAIN")
            ->envname("SOFTRDMA_DOMAIN");
    app.set_version_flag("--version", "softrdma " PACKAGE_VERSION);

    CLI::App *show = app.add_subcommand("show", "processes, ports and their state");
    show->add_flag("-j,--json", given.json, "print JSON");
    show->callback([&] { run_show(given); });

    CLI::App *counters = app.add_subcommand("counters", "what the ports counted");
    add_selection(*counters, given);
    auto *json    = counters->add_flag("-j,--json", given.json, "print JSON");
    auto *metrics = counters->add_flag("--prometheus", given.metrics,
                                       "print Prometheus' text format");
    auto *folder  = counters->add_option("--export", given.folder,
                                         "write files as sysfs has them into this folder");
    json->excludes(metrics)->excludes(folder);
    metrics->excludes(folder);
    counters->add_flag("-a,--all", given.zeros, "show also what is zero");
    counters->callback([&] { run_counters(given); });

    CLI::App *watching = app.add_subcommand("watch", "rates at an interval");
    add_selection(*watching, given);
    watching->add_option("-i,--interval", given.interval, "as 500ms; 1s by default");
    watching->add_option("-n,--count", given.rounds, "so many intervals, not for ever");
    watching->add_flag("-j,--json", given.json, "print JSON, one line an interval");
    watching->add_option("--export", given.folder,
                         "write the counters as files into this folder, each time");
    watching->callback([&] { run_watch(given); });

    CLI::App *set = app.add_subcommand("set", "shape what the fabric does to ports");
    set->add_option("words", given.words, "off, or KEY=VALUE...; pid= and device= select")
            ->required();
    set->footer(
            "Keys: rate=10G delay=2us jitter=1us loss=1% reorder=1% buffer=256K pfc=off "
            "xoff=128K xon=64K. What is not named stays as it is.");
    set->callback([&] { std::cout << shape(given.domain_name, given.words); });

    CLI::App *fault = app.add_subcommand("fault", "make something fail");
    fault->add_option("words", given.words, "KIND [KEY=VALUE...]")->required();
    fault->footer(fault_help());
    fault->callback([&] { std::cout << inject(given.domain_name, given.words); });
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"Looks at the software RDMA device of this user's processes, shapes its "
                 "fabric and makes it fail on command.",
                 "softrdma"};
    arguments given;
    define_commands(app, given);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_bad_input;
    } catch (const bad_input &error) {
        std::cerr << "softrdma: " << error.what() << "\n";
        return exit_bad_input;
    } catch (const std::exception &error) {
        std::cerr << "softrdma: " << error.what() << "\n";
        return exit_failed;
    }
    return EXIT_SUCCESS;
}
