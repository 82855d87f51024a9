// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/transport.hpp"

#include "tools/doctor/pause_counters.hpp"
#include "tools/info/report.hpp"
#include "tools/stats/stats.hpp"

#include <algorithm>

#include <unistd.h>

namespace be::tools {

namespace {

uint64_t value_of(const InterfaceStats &interface, const char *name)
{
    for (const core::StatsMetric &metric : interface.metrics) {
        if (metric.name == name) {
            return metric.value;
        }
    }
    return 0;
}

} // namespace

void TransportCounters::add(const TransportCounters &other)
{
    known = known || other.known;
    bytes_copied += other.bytes_copied;
    credit_ns += other.credit_ns;
    bytes_ns += other.bytes_ns;
    window_ns += other.window_ns;
    rnr += other.rnr;
    registrations += other.registrations;
}

TransportCounters TransportCounters::since(const TransportCounters &before) const
{
    TransportCounters change = *this;
    change.bytes_copied -= before.bytes_copied;
    change.credit_ns -= before.credit_ns;
    change.bytes_ns -= before.bytes_ns;
    change.window_ns -= before.window_ns;
    change.rnr -= before.rnr;
    change.registrations -= before.registrations;
    return change;
}

TransportCounters read_transport()
{
    TransportCounters sum;
    for (const InterfaceStats &interface :
         read_stats(stats_folder(), static_cast<uint64_t>(getpid()))) {
        // Interfaces that share all (UCX_BE_MUX) show the same numbers.
        const uint64_t sharers = std::max<uint64_t>(value_of(interface, "members"), 1);
        sum.add({.known        = true,
                 .bytes_copied = value_of(interface, "bytes_copied") / sharers,
                 .credit_ns    = value_of(interface, "credit_stall_time") / sharers,
                 .bytes_ns     = value_of(interface, "byte_credit_stall_time") / sharers,
                 .window_ns    = value_of(interface, "window_stall_time") / sharers,
                 .rnr          = value_of(interface, "rnr") / sharers,
                 // Of the whole device, by each of its interfaces: the sum is 0 or too much.
                 .registrations = value_of(interface, "registrations")});
    }
    return sum;
}

std::optional<uint64_t> read_pauses()
{
    static const Report report = collect_report();
    const auto *port           = report.used_port();
    if ((port == nullptr) || port->soft || port->netdev.empty()) {
        return std::nullopt;
    }
    uint64_t pauses = 0;
    for (const PortCounter &counter : pause_counters(port->netdev)) {
        pauses += counter.value;
    }
    return pauses;
}

} // namespace be::tools
