// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/roles.hpp"

#include "tools/perf/content.hpp"
#include "tools/perf/footprint.hpp"
#include "tools/perf/runtime.hpp"
#include "tools/perf/sizes.hpp"

#include <byteexpress/byteexpress.hpp>

#include <iostream>

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
    std::cout << server.address() << std::endl;

    std::string line;
    std::getline(std::cin, line);
    const TransportCounters counted = read_transport();
    const Footprint held            = read_footprint();
    const double before             = cpu_seconds();
    std::cout << "ready" << std::endl;
    std::getline(std::cin, line);
    Measured measured;
    measured.cpu_seconds       = cpu_seconds() - before;
    measured.transport         = read_transport().since(counted);
    const Footprint more       = growth(held, read_footprint());
    measured.memory_growth     = more.resident;
    measured.descriptor_growth = more.descriptors;
    std::cout << nlohmann::json(measured) << std::endl;
    return 0;
}

} // namespace be::tools
