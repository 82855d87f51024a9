// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/discovery.hpp"

#include "verbs/port_probe.hpp"
#include "verbs/sysfs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace be::verbs {
namespace {

constexpr char use_soft_hint[] = "set UCX_BE_SOFT=yes to use the software device instead";

// The software device may be preloaded over libibverbs, and a library may list both
// kinds: each table answers only for its own.
bool is_soft_name(const char *name)
{
    return strncmp(name, soft_device_prefix, sizeof(soft_device_prefix) - 1) == 0;
}

// Appends the ports of every device `table` lists. Returns why it lists none; empty: it
// lists some.
std::string append_listed(const Table &table, const std::string &sysfs,
                          std::vector<PortReport> &ports)
{
    int count         = 0;
    errno             = 0;
    ibv_device **list = table.get_device_list(&count);
    const int error   = errno;
    if (list == nullptr) {
        return table.library + " cannot list devices: " +
               ((error == ENOSYS) ? "the kernel has no RDMA support loaded" :
                                    strerror(error));
    }

    bool any = false;
    for (int i = 0; i < count; ++i) {
        if (is_soft_name(table.get_device_name(list[i])) == table.soft) {
            std::vector<PortReport> reports = probe_device(table, list[i], sysfs);
            ports.insert(ports.end(), reports.begin(), reports.end());
            any = true;
        }
    }
    table.free_device_list(list);
    return any ? std::string() : table.library + " lists no device";
}

// Appends devices the kernel has and the library did not list.
void append_unlisted(const std::string &sysfs, std::vector<PortReport> &ports)
{
    for (const std::string &name : sysfs::devices(sysfs)) {
        const bool listed = std::any_of(ports.begin(), ports.end(),
                                        [&](const PortReport &port) {
                                            return port.device == name;
                                        });
        if (!listed) {
            PortReport report;
            report.device    = name;
            report.numa_node = sysfs::numa_node(sysfs, name);
            report.reason    = "the kernel has it, libibverbs does not list it: is "
                               "libibverbs with its "
                               "providers installed, the ib_uverbs module loaded, and "
                               "/dev/infiniband "
                               "visible here?";
            ports.push_back(report);
        }
    }
}

// Appends hardware ports. Returns why there are none; empty: there are some, usable or
// not.
std::string append_hardware(const Sources &sources, std::vector<PortReport> &ports)
{
    const size_t before = ports.size();
    std::string why;
    if (const Table *table = sources.hardware(&why)) {
        why = append_listed(*table, sources.sysfs, ports);
    }
    append_unlisted(sources.sysfs, ports);
    return (ports.size() > before) ? std::string() : why;
}

// Appends the software device's ports. Returns why there are none; empty: there are some.
std::string append_soft(const Sources &sources, std::vector<PortReport> &ports)
{
    std::string why;
    if (const Table *table = sources.soft(&why)) {
        why = append_listed(*table, sources.sysfs, ports);
    }
    return why;
}

std::string port_name(const PortReport &port)
{
    return (port.port == 0) ? port.device : port.device + ":" + std::to_string(port.port);
}

// "mlx5_0:1: its state is down: ...; mlx5_1:1: ..."
std::string list_reasons(const std::vector<PortReport> &ports)
{
    std::string text;
    for (const PortReport &port : ports) {
        text += (text.empty() ? "" : "; ") + port_name(port) + ": " + port.reason;
    }
    return text;
}

} // namespace

bool Discovery::any_usable() const
{
    return std::any_of(ports.begin(), ports.end(),
                       [](const PortReport &port) { return port.usable; });
}

Discovery discover(SoftMode mode, const Sources &sources)
{
    Discovery result;

    std::string no_hardware;
    if (mode != SoftMode::yes) {
        no_hardware = append_hardware(sources, result.ports);
        if (result.any_usable()) {
            result.reason = "RDMA hardware is present";
            return result;
        }
        if (!result.ports.empty()) {
            result.reason = "no RDMA port is usable: " + list_reasons(result.ports);
            if (mode == SoftMode::automatic) {
                result.reason += std::string("; or ") + use_soft_hint;
            }
            return result;
        }
        if (mode == SoftMode::no) {
            result.reason = "there is no RDMA device (" + no_hardware + "); " +
                            use_soft_hint;
            return result;
        }
    }

    const std::string prefix  = (mode == SoftMode::yes) ?
                                        "the software device was asked for" :
                                        "there is no RDMA device (" + no_hardware + ")";
    const std::string no_soft = append_soft(sources, result.ports);
    if (!no_soft.empty()) {
        result.reason = prefix + " and the software device cannot be had: " + no_soft;
    } else if (!result.any_usable()) {
        result.reason = prefix + " and no port of the software device is usable: " +
                        list_reasons(result.ports);
    } else {
        result.reason = prefix + ": using the software device";
    }
    return result;
}

const char *to_string(ibv_port_state state)
{
    switch (state) {
    case IBV_PORT_DOWN:
        return "down";
    case IBV_PORT_INIT:
        return "initializing";
    case IBV_PORT_ARMED:
        return "armed";
    case IBV_PORT_ACTIVE:
        return "active";
    case IBV_PORT_ACTIVE_DEFER:
        return "active, deferred";
    default:
        return "unknown";
    }
}

const char *to_string(LinkLayer layer)
{
    switch (layer) {
    case LinkLayer::infiniband:
        return "InfiniBand";
    case LinkLayer::ethernet:
        return "RoCE";
    default:
        return "unknown link layer";
    }
}

} // namespace be::verbs
