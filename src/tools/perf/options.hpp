// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace be::tools {

/** What be_perf was asked to do. */
struct PerfOptions {
    std::string workload; //< fetch, push, incast, rpc or mixed
    std::string baseline; //< transport to compare with; empty: none
    unsigned pairs   = 5; //< runs of each transport
    double seconds   = 2; //< measured, of each run
    double warm_up   = 0.3; //< seconds before
    unsigned clients = 0; //< processes; 0: as the workload has it
    unsigned keys    = 64; //< of a batch
    unsigned table   = 2000; //< keys that the server has
    std::string sizes; //< empty: as the workload has it
    double rate          = 0; //< operations a second of each client; 0: closed loop
    std::string progress = "adaptive";
    unsigned spin_us     = 100;
    uint64_t seed        = 1;
    std::string address  = "127.0.0.1";
    bool verify          = true;

    /** What the workload wants where nothing was said. */
    void complete();
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PerfOptions, workload, baseline, pairs, seconds,
                                   warm_up, clients, keys, table, sizes, rate, progress,
                                   spin_us, seed, address, verify)

/** What one process has measured; also what all of a run have, added up. */
struct Measured {
    std::vector<double> latency; //< Histogram::dump(), nanoseconds
    uint64_t operations = 0;
    uint64_t bytes      = 0; //< of bodies
    uint64_t failures   = 0; //< operations
    uint64_t corrupted  = 0; //< values with wrong content
    double seconds      = 0;
    double cpu_seconds  = 0; //< user and system, without checking the content
    std::string problem; //< text of the first failure
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, latency, operations, bytes, failures,
                                   corrupted, seconds, cpu_seconds, problem)

} // namespace be::tools
