// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/domain.h"

#include "softrdma/clock.h"
#include "softrdma/counters.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace softrdma::cli {
namespace {

constexpr uint64_t order_patience_ns = 5'000'000'000;
constexpr useconds_t order_period_us = 200;

std::string command_of(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// Wakes the service thread of a process.
void ring(pid_t pid, int doorbell_fd)
{
    std::string path = "/proc/" + std::to_string(pid) + "/fd/" +
                       std::to_string(doorbell_fd);
    int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        throw std::runtime_error("process " + std::to_string(pid) +
                                 " cannot be reached: " + path + ": " + strerror(errno));
    }
    char byte                        = 0;
    [[maybe_unused]] ssize_t written = write(fd, &byte, 1); // a full pipe wakes it, too
    close(fd);
}

} // namespace

std::string device_name(uint32_t device)
{
    return "softrdma" + std::to_string(device);
}

const char *port_state(const port_shared &port)
{
    uint32_t condition = port.condition.load();
    return ((condition & port_removed) != 0)   ? "removed" :
           ((condition & port_link_down) != 0) ? "down" :
                                                 "active";
}

domain::domain(const std::string &name) : m_name(name)
{
    std::string error;
    if (!m_registry.observe(name, error)) {
        throw std::runtime_error("domain \"" + name + "\" is not in use: " + error);
    }
    refresh();
}

void domain::refresh()
{
    m_processes.clear();
    for (uint32_t slot = 1; slot <= m_registry.high_slot(); ++slot) {
        process_entry &entry = m_registry.entry(slot);
        uint64_t generation  = entry.generation.load(std::memory_order_acquire);
        if ((generation != 0) && m_registry.alive(slot, generation)) {
            pid_t pid = static_cast<pid_t>(entry.pid.load());
            m_processes.push_back(
                    {slot, generation, pid, command_of(pid), entry.devices});
        }
    }
}

std::vector<port_view> domain::ports(const selection &wanted)
{
    std::vector<port_view> result;
    bool known = wanted.pid == 0;
    for (const process_view &process : m_processes) {
        if ((wanted.pid != 0) && (wanted.pid != process.pid)) {
            continue;
        }
        known = true;
        for (uint32_t device = 0; device < process.devices; ++device) {
            if ((wanted.device == any_device) || (wanted.device == device)) {
                result.push_back(
                        {&process, device, &m_registry.port(process.slot, device)});
            }
        }
    }
    if (!known) {
        throw std::runtime_error("process " + std::to_string(wanted.pid) +
                                 " does not use the device in domain \"" + m_name + "\"");
    }
    if (result.empty() && (wanted.device != any_device) && !m_processes.empty()) {
        throw std::runtime_error("no process has " + device_name(wanted.device) +
                                 " (SOFTRDMA_DEVICES says how many there are)");
    }
    return result;
}

uint64_t domain::total(uint32_t device, size_t place)
{
    uint64_t sum = list_counters(m_registry.departed(device))[place].source->value();
    for (uint32_t slot = 1; slot <= m_registry.high_slot(); ++slot) {
        sum += list_counters(m_registry.port(slot, device))[place].source->value();
    }
    return sum;
}

fabric_settings domain::settings(const port_view &view)
{
    return m_registry.fabric().settings[port_key(view.owner->slot, view.device)].load();
}

void domain::shape(const port_view &view, const fabric_settings &settings)
{
    m_registry.shape(view.owner->slot, view.device, settings);
}

int domain::order(const process_view &to, const fault &wanted)
{
    std::optional<uint32_t> number = m_registry.post_order(to.slot, wanted);
    if (!number.has_value()) {
        throw std::runtime_error("process " + std::to_string(to.pid) + " has " +
                                 std::to_string(order_slots) +
                                 " orders waiting already; is it stopped?");
    }
    ring(to.pid, m_registry.entry(to.slot).doorbell_fd);
    order_box &box   = m_registry.orders(to.slot);
    uint64_t give_up = now_ns() + order_patience_ns;
    while (static_cast<int32_t>(box.taken.load(std::memory_order_acquire) - *number) <=
           0) {
        if (!m_registry.alive(to.slot, to.generation)) {
            throw std::runtime_error("process " + std::to_string(to.pid) +
                                     " ended before it took the order");
        }
        if (now_ns() > give_up) {
            throw std::runtime_error(
                    "process " + std::to_string(to.pid) +
                    " does not take the order: it is stopped, or has not opened a "
                    "device. It takes the order as soon as it can");
        }
        usleep(order_period_us);
    }
    return box.hits[*number % order_slots];
}

} // namespace softrdma::cli
