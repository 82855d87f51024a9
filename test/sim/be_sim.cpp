// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_sim: the flow control of the transport, and others, on a simulated fabric.
 *
 * Exit status: 0 fine; 1 a bound was missed (--check) or a replay differed; 2 bad usage.
 */
#include "be_config.h"

#include "flow_step.hpp"
#include "report.hpp"
#include "scenario.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

using namespace be::sim;

namespace {

constexpr int exit_missed    = 1;
constexpr int exit_bad_input = 2;

struct CommandLine {
    std::vector<std::string> names;
    std::string suite;
    std::string policy_list = "none,static,swift,product";
    std::vector<std::string> policies; /* of policy_list */
    Options options;
    double buffer_mib = 16;
    double xoff_kib   = 0;
    bool list         = false;
    bool json         = false;
    bool check        = false;
    bool rate         = false;
    bool shared_level = false;
    std::string plot;
    std::string replay;
};

const std::map<std::string, Policy> policy_names{{"none", Policy::none},
                                                 {"static", Policy::fixed},
                                                 {"swift", Policy::swift},
                                                 {"product", Policy::product}};

void define(CLI::App &app, CommandLine &line)
{
    auto *names = app.add_option("scenario", line.names, "which to run (see --list)");
    auto *suite = app.add_option("--suite", line.suite,
                                 "small: those that take seconds; full: all")
                          ->check(CLI::IsMember({"small", "full"}));

    names->excludes(suite);
    app.add_option("-p,--policy", line.policy_list, "which of them, with commas")
            ->capture_default_str();
    app.add_option("--seed", line.options.seed, "of all that is random")
            ->capture_default_str();
    app.add_option("--gbps", line.options.fabric.gbps, "of every link")
            ->check(CLI::Range(1.0, 1600.0))
            ->capture_default_str();
    app.add_option("--buffer", line.buffer_mib, "of a switch, MiB")
            ->check(CLI::Range(0.0625, 1024.0))
            ->capture_default_str();
    app.add_option("--alpha", line.options.fabric.alpha,
                   "pause threshold as part of the free buffer")
            ->check(CLI::Range(0.001, 16.0))
            ->capture_default_str();
    app.add_option("--xoff", line.xoff_kib,
                   "upper bound of the pause threshold, KiB; 0: none")
            ->check(CLI::Range(0.0, 1048576.0))
            ->capture_default_str();
    app.add_flag("--shared-level", line.shared_level,
                 "product: messages share bulk's service level in the NIC");
    app.add_flag("-l,--list", line.list, "list the scenarios");
    app.add_flag("-c,--check", line.check,
                 "fail when the product misses a bound of a scenario");
    app.add_flag("--rate", line.rate, "print simulated events per second, to stderr");
    app.add_flag("-j,--json", line.json, "print JSON");
    app.add_option("--plot", line.plot, "write FILE.dat and FILE.gp (for gnuplot)");
    app.add_option("--record", line.options.trace,
                   "record the protocol events of host 0 (one scenario, product)");
    app.add_option("--replay", line.replay, "do a recorded run again and compare")
            ->excludes(names)
            ->excludes(suite);
    app.set_version_flag("--version", "be_sim " PACKAGE_VERSION);
}

std::vector<std::string> split_policies(const std::string &list)
{
    std::vector<std::string> policies;
    std::istringstream in(list);
    std::string name;

    while (std::getline(in, name, ',')) {
        if (policy_names.count(name) == 0) {
            throw std::invalid_argument("--policy: '" + name +
                                        "' is unknown, expected "
                                        "none, static, swift or product");
        }
        policies.push_back(name);
    }
    return policies;
}

std::vector<const Scenario *> chosen(const CommandLine &line)
{
    std::vector<const Scenario *> list;

    for (const std::string &name : line.names) {
        auto same  = [&](const Scenario &scenario) { return scenario.name == name; };
        auto found = std::find_if(scenarios().begin(), scenarios().end(), same);

        if (found == scenarios().end()) {
            throw std::invalid_argument("scenario '" + name +
                                        "' is unknown, expected one of --list");
        }
        list.push_back(&*found);
    }
    for (const Scenario &scenario : scenarios()) {
        if ((line.suite == "full") || ((line.suite == "small") && scenario.small)) {
            list.push_back(&scenario);
        }
    }
    if (list.empty()) {
        throw std::invalid_argument("no scenario is given, expected names or --suite "
                                    "(see --list)");
    }
    if (!line.options.trace.empty() &&
        ((list.size() != 1) || (line.policies != std::vector<std::string>{"product"}))) {
        throw std::invalid_argument("--record takes one scenario and --policy product");
    }
    return list;
}

Result
run_one(const Scenario &scenario, const std::string &policy, const CommandLine &line)
{
    Options options = line.options;

    options.policy         = policy_names.at(policy);
    options.fabric.buffer  = static_cast<int64_t>(line.buffer_mib * (1 << 20));
    options.messages_first = !line.shared_level;
    if (line.xoff_kib != 0) {
        options.fabric.xoff_limit = static_cast<int64_t>(line.xoff_kib * 1024);
    }

    Result result = scenario.run(options);

    result.scenario = scenario.name;
    result.policy   = policy;
    if (line.rate) {
        std::cerr << scenario.name << " " << policy << ": " << result.events
                  << " events in " << result.seconds << " s, "
                  << static_cast<double>(result.events) / result.seconds / 1e6
                  << " million a second\n";
    }
    return result;
}

/* The added latency is judged against the same without flow control. */
std::string judge(const Scenario &scenario, const Result &result, const CommandLine &line)
{
    std::string text = missed(result, scenario.bounds);

    if (scenario.bounds.added != 0) {
        Result without = run_one(scenario, "none", line);
        double ratio   = result.transfer_us.p50 / without.transfer_us.p50;

        if (!(ratio <= scenario.bounds.added)) {
            text += (text.empty() ? "" : "; ") + std::string("p50 is ") +
                    std::to_string(ratio) + " of that without flow control";
        }
    }
    return text;
}

int simulate(const CommandLine &line)
{
    std::vector<const Scenario *> list = chosen(line);
    Run run{.seed = line.options.seed, .results = {}};
    int checked = 0, failed = 0;

    if (!line.json) {
        print_table_head(std::cout);
    }
    for (const Scenario *scenario : list) {
        for (const std::string &policy : line.policies) {
            Result result = run_one(*scenario, policy, line);

            if (!line.json) {
                print_table_row(std::cout, result);
            }
            if (line.check && (policy == "product")) {
                std::string text = judge(*scenario, result, line);

                ++checked;
                if (!text.empty()) {
                    ++failed;
                    std::cerr << "be_sim: " << scenario->name << ": " << text << "\n";
                }
            }
            run.results.push_back(std::move(result));
        }
    }
    if (line.json) {
        print_json(std::cout, run);
    }
    if (!line.plot.empty()) {
        write_plot(line.plot, run);
    }
    if (line.check) {
        std::cerr << "be_sim: " << checked - failed << " scenarios within their bounds, "
                  << failed << " not\n";
    }
    return (failed == 0) ? EXIT_SUCCESS : exit_missed;
}

int replay_file(const std::string &name)
{
    std::ifstream in(name);

    if (!in) {
        std::cerr << "be_sim: the trace '" << name << "' cannot be read\n";
        return exit_bad_input;
    }
    try {
        std::cout << replay(in) << " steps, all as recorded\n";
    } catch (const std::runtime_error &error) {
        std::cerr << "be_sim: " << name << ": " << error.what() << "\n";
        return exit_missed;
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"Simulates flow control on a leaf-spine fabric with priority flow "
                 "control, and compares policies.",
                 "be_sim"};
    CommandLine line;

    define(app, line);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return (app.exit(error) == 0) ? EXIT_SUCCESS : exit_bad_input;
    }

    try {
        line.policies = split_policies(line.policy_list);
        if (line.list) {
            for (const Scenario &scenario : scenarios()) {
                std::cout << scenario.name << ": " << scenario.about << "\n";
            }
            return EXIT_SUCCESS;
        }
        return line.replay.empty() ? simulate(line) : replay_file(line.replay);
    } catch (const Broken &error) {
        std::cerr << "be_sim: " << error.what() << "\n";
        return exit_missed;
    } catch (const std::exception &error) {
        std::cerr << "be_sim: " << error.what() << "\n";
        return exit_bad_input;
    }
}
