// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/machine.hpp"
#include "tools/doctor/pause_counters.hpp"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

namespace be::tools {

namespace {

namespace fs = std::filesystem;

// Of /sys/class/infiniband/DEVICE/ports/PORT/hw_counters: each is a packet lost, repeated or
// refused.
constexpr std::array bad_counters{"rnr_nak_retry_err", "out_of_buffer", "out_of_sequence",
                                  "packet_seq_err", "local_ack_timeout_err"};

std::string read_line(const fs::path &path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<uint64_t> to_number(std::string_view text)
{
    uint64_t value          = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                              value);
    if ((error != std::errc()) || (end == text.data())) {
        return std::nullopt;
    }
    return value;
}

std::optional<uint64_t> limit_of(int resource)
{
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
        return std::nullopt;
    }
    return (limit.rlim_cur == RLIM_INFINITY) ? UINT64_MAX : uint64_t{limit.rlim_cur};
}

// "always [madvise] never"
std::string chosen(const std::string &line)
{
    const size_t from = line.find('[');
    const size_t to   = line.find(']');
    return ((from == std::string::npos) || (to == std::string::npos) || (to < from)) ?
                   "" :
                   line.substr(from + 1, to - from - 1);
}

template<class Visit>
void for_each_numbered(const fs::path &folder, const std::string &prefix, Visit visit)
{
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(prefix)) {
            const auto number = to_number(std::string_view(name).substr(prefix.size()));
            if (number) {
                visit(static_cast<int>(*number), entry.path());
            }
        }
    }
}

std::vector<unsigned> allowed_cpus()
{
    std::vector<unsigned> cpus;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &set)) {
                cpus.push_back(cpu);
            }
        }
    }
    return cpus;
}

// cgroup version 2 only: the group of this process, and those around it.
void read_cgroup(Machine &machine, const std::string &root)
{
    std::ifstream file(root + "/proc/self/cgroup");
    std::string line;
    while (std::getline(file, line) && !line.starts_with("0::")) {
    }
    if (!line.starts_with("0::/")) {
        return;
    }
    const fs::path top = root + "/sys/fs/cgroup";
    fs::path group     = top / line.substr(4);
    for (;;) {
        if (const auto memory = to_number(read_line(group / "memory.max"))) {
            machine.cgroup_memory = std::min(machine.cgroup_memory.value_or(UINT64_MAX),
                                             *memory);
        }
        std::istringstream cpu(read_line(group / "cpu.max"));
        double quota  = 0;
        double period = 0;
        if ((cpu >> quota >> period) && (period > 0)) {
            const double cpus   = quota / period;
            const double before = machine.cgroup_cpus.value_or(cpus);
            machine.cgroup_cpus = std::min(before, cpus);
        }
        if ((group == top) || !group.has_relative_path()) {
            break;
        }
        group = group.parent_path();
    }
}

void read_counters(Machine &machine, const std::vector<verbs::PortReport> &ports,
                   const std::string &root)
{
    for (const verbs::PortReport &port : ports) {
        if (port.soft || (port.port == 0)) {
            continue;
        }
        const fs::path folder = root + "/sys/class/infiniband/" + port.device +
                                "/ports/" + std::to_string(port.port) + "/hw_counters";
        for (const char *name : bad_counters) {
            const auto value = to_number(read_line(folder / name));
            if (value && (*value != 0)) {
                machine.counters.push_back(
                        {port.device + ":" + std::to_string(port.port), name, *value});
            }
        }
        if (root.empty() && !port.netdev.empty()) {
            for (PortCounter &counter : pause_counters(port.netdev)) {
                machine.counters.push_back(std::move(counter));
            }
        }
    }
}

} // namespace

std::vector<unsigned> parse_cpu_list(const std::string &text)
{
    std::vector<unsigned> cpus;
    std::istringstream parts(text);
    std::string part;

    while (std::getline(parts, part, ',')) {
        const auto first  = to_number(part);
        const size_t dash = part.find('-');
        const auto last   = (dash == std::string::npos) ?
                                    first :
                                    to_number(std::string_view(part).substr(dash + 1));
        if (first && last && (*last < CPU_SETSIZE)) {
            for (uint64_t cpu = *first; cpu <= *last; cpu++) {
                cpus.push_back(static_cast<unsigned>(cpu));
            }
        }
    }
    return cpus;
}

Machine
inspect_machine(const std::vector<verbs::PortReport> &ports, const std::string &root)
{
    const std::string kernel = root + "/sys/kernel/mm/";
    const std::string system = root + "/sys/devices/system/";
    Machine machine;

    machine.locked_memory   = limit_of(RLIMIT_MEMLOCK);
    machine.open_files      = limit_of(RLIMIT_NOFILE);
    machine.free_huge_pages = to_number(
            read_line(kernel + "hugepages/hugepages-2048kB/free_hugepages"));
    machine.transparent_huge_pages = chosen(
            read_line(kernel + "transparent_hugepage/enabled"));
    machine.cpus = allowed_cpus();
    for_each_numbered(system + "cpu", "cpu", [&](int, const fs::path &cpu) {
        const std::string governor = read_line(cpu / "cpufreq/scaling_governor");
        if (!governor.empty()) {
            machine.governors[governor]++;
        }
    });
    for_each_numbered(system + "node", "node", [&](int node, const fs::path &folder) {
        machine.nodes[node] = parse_cpu_list(read_line(folder / "cpulist"));
    });
    struct statvfs shared {};
    if (statvfs((root + "/dev/shm").c_str(), &shared) == 0) {
        machine.shared_memory_free = uint64_t{shared.f_bavail} * shared.f_frsize;
    }
    read_cgroup(machine, root);
    read_counters(machine, ports, root);
    return machine;
}

} // namespace be::tools
