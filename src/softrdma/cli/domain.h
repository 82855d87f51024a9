// SPDX-License-Identifier: BSD-3-Clause
//
// A domain of the software device seen from outside: the processes in its registry, their ports, and
// orders to them.
#pragma once

#include "softrdma/registry.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace softrdma::cli {

struct process_view {
    uint32_t slot;
    uint64_t generation;
    pid_t pid;
    std::string command;
    uint32_t devices;
};

struct port_view {
    const process_view *owner;
    uint32_t device;
    port_shared *port;
};

std::string device_name(uint32_t device);

// "active", "down" or "removed".
const char *port_state(const port_shared &port);

// Which ports a command is about; 0 and any_device: all.
struct selection {
    pid_t pid       = 0;
    uint32_t device = any_device;
};

class domain {
public:
    // Throws std::runtime_error when nobody uses the device there.
    explicit domain(const std::string &name);

    const std::string &name() const
    {
        return m_name;
    }

    // Looks again who is there.
    void refresh();

    const std::vector<process_view> &processes() const
    {
        return m_processes;
    }

    // The ports of the processes that are there. Throws when the selected process or device is not.
    std::vector<port_view> ports(const selection &wanted = {});

    // The sum of one counter, by its place in list_counters(), over all processes that ever were there.
    uint64_t total(uint32_t device, size_t place);

    // What the fabric does to a port.
    fabric_settings settings(const port_view &view);
    void shape(const port_view &view, const fabric_settings &settings);

    // Gives the order and waits until it was carried out. What it hit; throws when it was not taken.
    int order(const process_view &to, const fault &wanted);

private:
    std::string m_name;
    registry m_registry;
    std::vector<process_view> m_processes;
};

} // namespace softrdma::cli
