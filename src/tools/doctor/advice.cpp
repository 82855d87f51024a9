// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/advice.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace be::tools {

namespace {

constexpr uint64_t mebi = uint64_t{1} << 20;

// Below, a large job runs out of what it may lock, open or share.
constexpr uint64_t enough_locked = 1024 * mebi;
constexpr uint64_t enough_files  = 4096;
constexpr uint64_t enough_shared = 256 * mebi;
constexpr uint64_t enough_memory = 1024 * mebi;

using List = std::vector<Advice>;

void add(List &list, Level level, const char *topic, std::string found,
         std::string change = {})
{
    list.push_back({level, topic, std::move(found), std::move(change)});
}

void on_port(List &list, const Report &report)
{
    const verbs::PortReport *port = report.used_port();
    if (port == nullptr) {
        add(list, Level::problem, "device",
            "no port can be used: " + report.devices.reason,
            "do what the line for the port says (be_info), or set UCX_BE_SOFT=yes for "
            "the "
            "software device");
    } else if (port->soft) {
        add(list, Level::hint, "device",
            "the software device is in use: " + report.devices.reason,
            "it connects processes of this machine only; for a network an RDMA device "
            "with "
            "an active port is needed, and UCX_BE_SOFT not set to yes");
    } else {
        add(list, Level::good, "device",
            fmt::format("{}:{} is in use", port->device, port->port));
    }
}

void on_ucx(List &list, const Report &report)
{
    if (!report.ucx) {
        add(list, Level::problem, "ucx", report.ucx_problem,
            "install UCX, or name its libraries in LD_LIBRARY_PATH");
    } else if (report.ucx_matches()) {
        add(list, Level::good, "ucx",
            fmt::format("{}, as the transport was built for",
                        report.ucx->version.to_string()));
    } else {
        add(list, Level::problem, "ucx",
            fmt::format("{} is found, but the transport was built for {}",
                        report.ucx->version.to_string(),
                        report.built_for.empty() ? "none" : report.built_for),
            "build this package for that release (configure --with-ucx), or put the "
            "other "
            "one first in LD_LIBRARY_PATH");
    }
    if (report.modules.empty()) {
        add(list, Level::problem, "modules", report.modules_problem,
            "install the package, or run the be_run of the build tree");
    }
}

void on_locked_memory(List &list, const Machine &machine, bool hardware)
{
    if (!machine.locked_memory) {
        return;
    }
    if (*machine.locked_memory == UINT64_MAX) {
        add(list, Level::good, "locked memory", "not limited");
        return;
    }
    const auto found = fmt::format("at most {} KiB (ulimit -l)",
                                   *machine.locked_memory / 1024);
    if (!hardware || (*machine.locked_memory >= enough_locked)) {
        add(list, Level::good, "locked memory",
            found + (hardware ? "" : ", which the software device does not need"));
    } else {
        add(list, Level::problem, "locked memory",
            found + ": registering memory with the device fails beyond",
            "set `* - memlock unlimited` in /etc/security/limits.conf, "
            "LimitMEMLOCK=infinity "
            "for a systemd service, or --ulimit memlock=-1 for a container");
    }
}

void on_huge_pages(List &list, const Machine &machine)
{
    if (machine.free_huge_pages.value_or(0) != 0) {
        add(list, Level::good, "huge pages",
            fmt::format("{} of 2 MiB are free", *machine.free_huge_pages));
    } else if ((machine.transparent_huge_pages == "always") ||
               (machine.transparent_huge_pages == "madvise")) {
        add(list, Level::good, "huge pages",
            "none reserved; transparent ones are on (" + machine.transparent_huge_pages +
                    ")");
    } else if (machine.free_huge_pages || !machine.transparent_huge_pages.empty()) {
        add(list, Level::hint, "huge pages", "none, neither reserved nor transparent",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve "
            "some: "
            "sysctl vm.nr_hugepages=512");
    }
}

void on_cpus(List &list, const Report &report, const Machine &machine)
{
    if (!machine.governors.empty()) {
        unsigned slow = 0;
        std::string names;
        for (const auto &[name, count] : machine.governors) {
            if (name != "performance") {
                slow += count;
                names += (names.empty() ? "" : ", ") + name;
            }
        }
        if (slow == 0) {
            add(list, Level::good, "cpu frequency", "governor performance");
        } else {
            add(list, Level::hint, "cpu frequency",
                fmt::format("governor {} on {} CPUs: latency varies", names, slow),
                "cpupower frequency-set -g performance");
        }
    }
    const verbs::PortReport *port = report.used_port();
    if ((port == nullptr) || port->soft || !machine.nodes.contains(port->numa_node) ||
        (machine.nodes.size() < 2)) {
        return;
    }
    const auto &near = machine.nodes.at(port->numa_node);
    const bool on    = std::ranges::any_of(machine.cpus, [&](unsigned cpu) {
        return std::ranges::find(near, cpu) != near.end();
    });
    if (on) {
        add(list, Level::good, "numa",
            fmt::format("this process may run on node {}, where {} is", port->numa_node,
                        port->device));
    } else {
        add(list, Level::hint, "numa",
            fmt::format("{} is on node {}, and this process may not run there",
                        port->device, port->numa_node),
            fmt::format("numactl --cpunodebind={} COMMAND", port->numa_node));
    }
}

void on_limits(List &list, const Machine &machine, bool soft)
{
    if (machine.open_files && (*machine.open_files < enough_files)) {
        add(list, Level::hint, "open files",
            fmt::format("at most {} (ulimit -n); a peer takes some", *machine.open_files),
            fmt::format("ulimit -n {}", enough_files * 16));
    }
    if (soft && machine.shared_memory_free &&
        (*machine.shared_memory_free < enough_shared)) {
        add(list, Level::problem, "shared memory",
            fmt::format("{} MiB are free in /dev/shm, which the software device uses",
                        *machine.shared_memory_free / mebi),
            "mount -o remount,size=1G /dev/shm, or --shm-size=1g for a container");
    }
    if (machine.cgroup_memory && (*machine.cgroup_memory < enough_memory)) {
        add(list, Level::hint, "container memory",
            fmt::format("limited to {} MiB; registered memory counts",
                        *machine.cgroup_memory / mebi),
            "raise the container's or the service's memory limit (memory.max)");
    }
    if (machine.cgroup_cpus && (*machine.cgroup_cpus < 1)) {
        add(list, Level::hint, "container cpu",
            fmt::format(
                    "limited to {:.2f} of a CPU: whoever polls is stopped in each period",
                    *machine.cgroup_cpus),
            "raise the container's CPU limit (cpu.max), or give it whole CPUs (cpuset)");
    }
}

void on_counters(List &list, const Machine &machine, bool hardware)
{
    for (const PortCounter &counter : machine.counters) {
        const bool pause = counter.name.find("pause") != std::string::npos;
        add(list, Level::hint, "counters",
            fmt::format("{}: {} is {} since the device was started", counter.device,
                        counter.name, counter.value),
            pause ? "something on this network overruns a buffer; be's byte credit "
                    "(UCX_BE_BYTE_CREDIT) prevents that for its own traffic" :
                    "packets were lost, repeated or refused: if it grows while only be "
                    "runs, "
                    "look at the switch's PFC and ECN settings for this port's priority");
    }
    if (hardware && machine.counters.empty()) {
        add(list, Level::good, "counters", "no losses, no pauses");
    }
}

void on_metrics(List &list, const Machine &machine)
{
    if (machine.metrics.empty()) {
        return;
    }
    if (machine.metrics_problem.empty()) {
        add(list, Level::good, "metrics",
            "can be served at UCX_BE_METRICS=" + machine.metrics);
    } else {
        add(list, Level::problem, "metrics",
            "cannot be served as UCX_BE_METRICS says: " + machine.metrics_problem,
            "name an address of this machine and a range of ports that are free, as "
            "127.0.0.1:9400+");
    }
}

} // namespace

List advise(const Report &report, const Machine &machine)
{
    const verbs::PortReport *port = report.used_port();
    const bool hardware           = (port != nullptr) && !port->soft;
    List list;

    on_port(list, report);
    on_ucx(list, report);
    on_locked_memory(list, machine, hardware);
    on_huge_pages(list, machine);
    on_cpus(list, report, machine);
    on_limits(list, machine, (port != nullptr) && port->soft);
    on_counters(list, machine, hardware);
    on_metrics(list, machine);
    return list;
}

bool any_problem(const List &advice)
{
    return std::ranges::any_of(advice, [](const Advice &one) {
        return one.level == Level::problem;
    });
}

} // namespace be::tools
