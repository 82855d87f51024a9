// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/measure.hpp"

#include "tools/perf/histogram.hpp"
#include "tools/perf/process.hpp"

#include <filesystem>
#include <memory>

#include <unistd.h>

namespace be::tools {

namespace {

constexpr double time_to_start = 60; // seconds, on a busy machine
constexpr double time_to_end   = 60;

std::vector<std::string>
base_command(const std::string &transport, const std::string &self)
{
    std::vector<std::string> command;

    if (transport == "be") {
        // Beside be_perf; in a build tree the program itself is in .libs.
        auto folder = std::filesystem::path(self).parent_path();
        if (folder.filename() == ".libs") {
            folder = folder.parent_path();
        }
        const auto run = folder / "be_run";
        command.push_back(access(run.c_str(), X_OK) == 0 ? run.string() : "be_run");
    }
    command.push_back(self);
    return command;
}

void add(Run &run, Histogram &latency, const Measured &measured)
{
    Measured &total = run.total;

    latency.merge_dump(measured.latency);
    total.operations += measured.operations;
    total.bytes += measured.bytes;
    total.failures += measured.failures;
    total.corrupted += measured.corrupted;
    total.cpu_seconds += measured.cpu_seconds;
    total.seconds = std::max(total.seconds, measured.seconds);
    total.transport.add(measured.transport);
    total.memory_growth     = std::max(total.memory_growth, measured.memory_growth);
    total.descriptor_growth = std::max(total.descriptor_growth,
                                       measured.descriptor_growth);
    if (total.problem.empty()) {
        total.problem = measured.problem;
    }
}

void add_transport(Run &run, double operations)
{
    const TransportCounters &counted = run.total.transport;
    if (!counted.known) {
        return;
    }
    const auto each = [&](uint64_t value, double scale) {
        return (operations > 0) ? static_cast<double>(value) * scale / operations : 0;
    };
    run.copied_bytes  = each(counted.bytes_copied, 1);
    run.credit_us     = each(counted.credit_ns, 1e-3);
    run.bytes_us      = each(counted.bytes_ns, 1e-3);
    run.window_us     = each(counted.window_ns, 1e-3);
    run.rnr           = static_cast<double>(counted.rnr);
    run.registrations = static_cast<double>(counted.registrations);
}

Measured read_result(ChildProcess &process, double seconds)
{
    return nlohmann::json::parse(process.read_line(seconds)).get<Measured>();
}

} // namespace

Run measure(const PerfOptions &options, const std::string &transport,
            const std::string &self)
{
    const std::vector<std::string> environment = {"UCX_TLS=" + transport + ",self",
                                                  "UCX_WARN_UNUSED_ENV_VARS=n"};
    const std::string text                     = nlohmann::json(options).dump();
    const auto start                           = [&](std::vector<std::string> arguments) {
        auto command = base_command(transport, self);
        command.insert(command.end(), arguments.begin(), arguments.end());
        return std::make_unique<ChildProcess>(command, environment);
    };

    const auto server         = start({"--as-server", text});
    const std::string address = server->read_line(time_to_start);
    std::vector<std::unique_ptr<ChildProcess>> clients;
    for (unsigned i = 0; i < options.clients; i++) {
        clients.push_back(start({"--as-client", text, "--number", std::to_string(i),
                                 "--server", address}));
    }
    for (const auto &client : clients) {
        client->read_line(time_to_start + options.warm_up);
    }
    server->write_line("go");
    server->read_line(time_to_start);
    const std::optional<uint64_t> pauses = read_pauses();
    for (const auto &client : clients) {
        client->write_line("go");
    }

    Run run;
    Histogram latency;
    run.transport = transport;
    for (const auto &client : clients) {
        add(run, latency, read_result(*client, options.seconds + time_to_end));
    }
    server->write_line("end");
    add(run, latency, read_result(*server, time_to_end));
    if (const auto later = read_pauses(); (transport == "be") && pauses && later) {
        run.pauses = static_cast<double>(*later) - static_cast<double>(*pauses);
    }

    if ((run.total.operations == 0) && (run.total.failures != 0)) {
        throw std::runtime_error("nothing could be measured over " + transport + ": " +
                                 run.total.problem);
    }
    const auto operations = static_cast<double>(run.total.operations);
    run.total.latency     = latency.dump();
    run.mean_us           = latency.mean() / 1e3;
    run.p50_us            = static_cast<double>(latency.percentile(0.5)) / 1e3;
    run.p99_us            = static_cast<double>(latency.percentile(0.99)) / 1e3;
    run.p999_us           = static_cast<double>(latency.percentile(0.999)) / 1e3;
    run.max_us            = static_cast<double>(latency.max()) / 1e3;
    run.operations_s      = operations / run.total.seconds;
    run.megabytes_s = static_cast<double>(run.total.bytes) / run.total.seconds / 1e6;
    run.cpu_us      = (operations > 0) ? run.total.cpu_seconds * 1e6 / operations : 0;
    add_transport(run, operations);
    return run;
}

std::vector<Run> measure_all(const PerfOptions &options, const std::string &self,
                             const std::function<void(const Run &)> &progress)
{
    std::vector<std::string> transports = {"be"};
    std::vector<Run> runs;

    if (!options.baseline.empty()) {
        transports.push_back(options.baseline);
    }
    for (unsigned pair = 0; pair < options.pairs; pair++) {
        for (const std::string &transport : transports) {
            runs.push_back(measure(options, transport, self));
            progress(runs.back());
        }
        std::swap(transports.front(), transports.back()); // neither is always first
    }
    return runs;
}

} // namespace be::tools
