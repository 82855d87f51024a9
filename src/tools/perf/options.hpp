// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/perf/transport.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace be::tools {

/** What be_perf was asked to do. */
struct PerfOptions {
    std::string workload; //< fetch, push, incast, rpc, mixed or soak
    std::string baseline; //< transport to compare with; empty: none
    unsigned pairs   = 0; //< runs of each transport; 0: as the workload has it
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
    std::string growth   = "64m"; //< soak: memory that a process may gain

    /** What the workload wants where nothing was said. */
    void complete();
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PerfOptions, workload, baseline, pairs, seconds,
                                   warm_up, clients, keys, table, sizes, rate, progress,
                                   spin_us, seed, address, verify, growth)

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
    TransportCounters transport;
    uint64_t memory_growth     = 0; //< bytes; of a sum, the most of one process
    uint64_t descriptor_growth = 0; //< likewise
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measured, latency, operations, bytes, failures,
                                   corrupted, seconds, cpu_seconds, problem, transport,
                                   memory_growth, descriptor_growth)

} // namespace be::tools
