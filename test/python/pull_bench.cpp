// SPDX-License-Identifier: BSD-3-Clause
//
// pull_bench PYTHON SCRIPT: pulls of 1 MiB by C++ and by Python from the same server, in
// turns, each in a process of its own; prints both and their ratio.
//
// pull_bench --pull ADDRESS: the microseconds of one by C++.
#include <byteexpress/byteexpress.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double pull_from(const std::string &address)
{
    be::Runtime runtime;
    be::ps::WorkerOptions options;
    options.servers = {{address}};
    be::ps::Worker worker(runtime, options);
    const std::vector<float> ones(1 << 18, 1.0f);
    const be::ps::Key keys[]                  = {1};
    const std::span<const std::byte> values[] = {std::as_bytes(std::span(ones))};
    if (!worker.push(be::ps::Rule::assign, keys, values).ok()) {
        throw std::runtime_error("cannot push");
    }
    std::vector<double> times;
    for (unsigned i = 0; i < 500; i++) {
        const auto begin = std::chrono::steady_clock::now();
        if (!worker.pull(keys).ok()) {
            throw std::runtime_error("cannot pull");
        }
        times.push_back(std::chrono::duration<double, std::micro>(
                                std::chrono::steady_clock::now() - begin)
                                .count());
    }
    return median(times);
}

double output_of(const std::string &command)
{
    double number = 0;
    FILE *pipe    = popen(command.c_str(), "r");
    if ((pipe == nullptr) || (std::fscanf(pipe, "%lf", &number) != 1) ||
        (pclose(pipe) != 0)) {
        throw std::runtime_error("'" + command + "' failed");
    }
    return number;
}

} // namespace

int main(int argc, char **argv)
{
    if ((argc == 3) && (std::string(argv[1]) == "--pull")) {
        std::printf("%.1f\n", pull_from(argv[2]));
        return 0;
    }
    if (argc != 3) {
        std::cerr << "usage: pull_bench PYTHON SCRIPT\n";
        return 2;
    }
    try {
        be::Runtime runtime;
        be::Server server(runtime);
        be::ps::Server parameters(server);
        server.start();
        std::vector<double> native, python, ratio;
        for (unsigned i = 0; i < 5; i++) {
            native.push_back(
                    output_of(std::string(argv[0]) + " --pull " + server.address()));
            python.push_back(output_of(std::string(argv[1]) + " " + argv[2] + " " +
                                       server.address()));
            ratio.push_back(python.back() / native.back());
        }
        std::printf("pull of 1 MiB: C++ %.1f us, Python %.1f us, ratio %.2f\n",
                    median(native), median(python), median(ratio));
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "pull_bench: " << error.what() << "\n";
        return 1;
    }
}
