// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "verbs/discovery.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace be::tools {

/** A counter of a port that should be 0. */
struct PortCounter {
    std::string device; //< "mlx5_0:1", or the network interface
    std::string name;
    uint64_t value = 0;
};

/**
 * What of this machine, and of the limits on this process, the transport's speed depends
 * on. What cannot be known is left out.
 */
struct Machine {
    std::optional<uint64_t> locked_memory; //< bytes, RLIMIT_MEMLOCK; UINT64_MAX: no limit
    std::optional<uint64_t> open_files; //< RLIMIT_NOFILE
    std::optional<uint64_t> free_huge_pages; //< of 2 MiB
    std::string transparent_huge_pages; //< "always", "madvise", "never"
    std::map<std::string, unsigned>
            governors; //< CPU frequency governor, and of how many CPUs
    std::vector<unsigned> cpus; //< that this process may use
    std::map<int, std::vector<unsigned>> nodes; //< NUMA nodes and their CPUs
    std::optional<uint64_t> shared_memory_free; //< bytes in /dev/shm
    std::optional<uint64_t> cgroup_memory; //< bytes; UINT64_MAX: no limit
    std::optional<double> cgroup_cpus; //< CPUs' time; 0: no limit
    std::vector<PortCounter> counters; //< that are not 0
    std::string metrics; //< UCX_BE_METRICS; empty: not set
    std::string metrics_problem; //< why they cannot be served there now
};

/**
 * Looks at the machine.
 *
 * @param ports  Whose counters are read.
 * @param root   In front of all paths; "" but in tests.
 */
Machine inspect_machine(const std::vector<verbs::PortReport> &ports,
                        const std::string &root = "");

/** "0-3,8" as the kernel writes it. @return What can be read of it. */
std::vector<unsigned> parse_cpu_list(const std::string &text);

} // namespace be::tools
