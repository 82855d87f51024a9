// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port_probe.hpp"

#include "verbs/error.hpp"
#include "verbs/handle.hpp"
#include "verbs/port_rate.hpp"
#include "verbs/sysfs.hpp"

#include <cerrno>
#include <cstring>

namespace be::verbs {
namespace {

LinkLayer link_layer_of(const ibv_port_attr &attributes)
{
    switch (attributes.link_layer) {
    case IBV_LINK_LAYER_ETHERNET:
        return LinkLayer::ethernet;
    case IBV_LINK_LAYER_INFINIBAND:
    case IBV_LINK_LAYER_UNSPECIFIED: // older drivers: verbs.h says InfiniBand is meant
        return LinkLayer::infiniband;
    default:
        return LinkLayer::unknown;
    }
}

// What would make an inactive port active.
std::string remedy(const PortReport &report)
{
    if (report.link_layer == LinkLayer::ethernet) {
        return report.netdev.empty() ?
                       "bring its network interface up and check the cable" :
                       "bring it up with: ip link set dev " + report.netdev + " up";
    }
    switch (report.state) {
    case IBV_PORT_INIT:
    case IBV_PORT_ARMED:
        return "no subnet manager has set it up: start one (opensm) or wait for it";
    default:
        return "check the cable and the switch port, or enable it (ibportstate)";
    }
}

// Why no port of the device can serve; empty: it can.
std::string unfit(const ibv_device *device, const ibv_device_attr &attributes)
{
    if (device->transport_type != IBV_TRANSPORT_IB) {
        return "it speaks neither InfiniBand nor RoCE (iWARP, EFA and the like lack what "
               "is "
               "needed: connected queue pairs with immediate data)";
    }
    if ((attributes.max_srq <= 0) || (attributes.max_srq_wr <= 0)) {
        return "it has no shared receive queues";
    }
    return {};
}

PortReport probe_port(const Table &table, ibv_context *context, PortReport report,
                      const std::string &sysfs)
{
    ibv_port_attr attributes;
    const int error = error_of(query_port(table, context, report.port, &attributes));
    if (error != 0) {
        report.reason = std::string("its state cannot be read: ") + strerror(error);
        return report;
    }

    report.state      = attributes.state;
    report.active_mtu = attributes.active_mtu;
    report.link_layer = link_layer_of(attributes);
    report.rate       = port_rate(attributes.active_speed, attributes.active_width);
    report.netdev = report.soft ? "lo" : sysfs::netdev(sysfs, report.device, report.port);

    if (report.state == IBV_PORT_ACTIVE) {
        report.usable = true;
        report.reason = std::string("active, ") + to_string(report.link_layer);
        if (report.soft) {
            report.reason += ", software device on this host only";
        }
    } else {
        report.reason = std::string("its state is ") + to_string(report.state) + ": " +
                        remedy(report);
    }
    return report;
}

} // namespace

std::vector<PortReport>
probe_device(const Table &table, ibv_device *device, const std::string &sysfs)
{
    PortReport report;
    report.device = table.get_device_name(device);
    report.soft   = table.soft;
    if (!report.soft) {
        report.numa_node = sysfs::numa_node(sysfs, report.device);
    }

    errno = 0;
    const Handle<ibv_context, &Table::close_device> context(table,
                                                            table.open_device(device));
    if (!context) {
        const int error = (errno != 0) ? errno : EIO;
        report.reason   = std::string("it cannot be opened: ") + strerror(error);
        if ((error == EACCES) || (error == EPERM)) {
            report.reason +=
                    "; this user needs read and write access to the device's file in "
                    "/dev/infiniband";
        }
        return {report};
    }

    ibv_device_attr attributes;
    const int error = error_of(table.query_device(context.get(), &attributes));
    if (error != 0) {
        report.reason = std::string("its attributes cannot be read: ") + strerror(error);
        return {report};
    }

    report.reason = unfit(device, attributes);
    if (!report.reason.empty()) {
        return {report};
    }
    if (attributes.phys_port_cnt == 0) {
        report.reason = "it has no ports";
        return {report};
    }

    std::vector<PortReport> reports;
    for (unsigned port = 1; port <= attributes.phys_port_cnt; ++port) {
        report.port = static_cast<uint8_t>(port);
        reports.push_back(probe_port(table, context.get(), report, sysfs));
    }
    return reports;
}

} // namespace be::verbs
