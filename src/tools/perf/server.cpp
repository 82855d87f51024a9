// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/roles.hpp"

#include "tools/perf/content.hpp"
#include "tools/perf/footprint.hpp"
#include "tools/perf/process.hpp"
#include "tools/perf/runtime.hpp"
#include "tools/perf/sizes.hpp"

#include <byteexpress/byteexpress.hpp>

#include <sys/resource.h>

namespace be::tools {

double cpu_seconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) +
               1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int run_server(const PerfOptions &options)
{
    ParentProcess parent;
    Runtime runtime(runtime_options(options));
    ServerOptions server_options;
    server_options.address = options.address + ":0";
    Server server(runtime, server_options);
    ps::Server parameters(server);

    server.add("echo", [](const Request &request) { return request.body(); });
    server.add("sink", [](const Request &request) {
        const uint64_t size = request.body().size();
        return Body::copy(std::as_bytes(std::span(&size, 1)));
    });

    if ((options.workload == "fetch") || (options.workload == "soak")) {
        std::mt19937_64 random(options.seed);
        Sizes sizes(options.sizes);
        std::vector<std::byte> value;
        for (unsigned key = 0; key < options.table; key++) {
            value.resize(sizes.draw(random));
            fill(value, key);
            parameters.set(key, value);
        }
    }
    server.start();
    parent.write_line(server.address());
    parent.read_line();
    const TransportCounters counted = read_transport();
    const Footprint held            = read_footprint();
    const double before             = cpu_seconds();
    parent.write_line("ready");
    parent.read_line();
    Measured measured;
    measured.cpu_seconds       = cpu_seconds() - before;
    measured.transport         = read_transport().since(counted);
    const Footprint more       = growth(held, read_footprint());
    measured.memory_growth     = more.resident;
    measured.descriptor_growth = more.descriptors;
    parent.write_line(nlohmann::json(measured).dump());
    return 0;
}

} // namespace be::tools
