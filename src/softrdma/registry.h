// SPDX-License-Identifier: BSD-3-Clause
//
// The registry: one shared file per user, domain and pid namespace in which every process that opened
// the device holds a slot. A slot says where the process's segment and doorbell are and, by a
// generation that never repeats, tells one process from the next that takes the slot. Slots of dead
// processes are reclaimed by whoever needs one.
//
// Thread rules: attach() and release() once per process; everything else from any thread.
#pragma once

#include "layout.h"

#include <optional>
#include <string>
#include <sys/types.h>

namespace softrdma {

class registry {
public:
    registry() = default;
    ~registry();
    registry(const registry &)            = delete;
    registry &operator=(const registry &) = delete;

    // Maps the file and takes a slot. False with a message in `error`.
    bool attach(const std::string &domain, std::string &error);

    // Maps the file of a domain that is in use, to look on and to give orders. Takes no slot.
    bool observe(const std::string &domain, std::string &error);

    // Puts a fault into the ring of that process and returns its sequence number; none when the ring
    // is full.
    std::optional<uint32_t> post_order(uint32_t slot, const fault &wanted);

    // Publishes the slot: from here on peers can find this process.
    void publish(int segment_fd, int doorbell_fd, uint32_t devices, link_layer link);

    // A process that runs with another link layer than this one; 0 when there is none.
    pid_t differently_linked(link_layer link);

    // Withdraws the device: peers see it as gone.
    void release();

    process_entry &entry(uint32_t slot)
    {
        return m_layout->entries[slot];
    }

    guard_record *guards(uint32_t slot)
    {
        return m_layout->guards[slot];
    }

    // The port of that process on that device.
    port_shared &port(uint32_t slot, uint32_t device)
    {
        return m_layout->ports[slot][device];
    }

    // What the ports of that device counted in processes that have no slot any more.
    port_shared &departed(uint32_t device)
    {
        return m_layout->departed[device];
    }

    fabric_state &fabric()
    {
        return m_layout->fabric;
    }

    // What the fabric does to the traffic of a port from here on; idle settings switch its model off.
    void shape(uint32_t slot, uint32_t device, const fabric_settings &settings);

    order_box &orders(uint32_t slot)
    {
        return m_layout->orders[slot];
    }

    uint32_t high_slot() const
    {
        return m_layout->high_slot.load(std::memory_order_acquire);
    }

    uint32_t own_slot() const
    {
        return m_own;
    }

    uint64_t own_generation() const
    {
        return m_generation;
    }

    // Whether the holder of that generation of the slot runs. Reads /proc: not for the data path.
    bool alive(uint32_t slot, uint64_t generation);
    bool alive(owner_token token);

private:
    bool map(const std::string &name, bool create, std::string &error);
    bool claim(std::string &error);

    registry_layout *m_layout = nullptr;
    int m_fd                  = -1;
    uint32_t m_own            = 0;
    uint64_t m_generation     = 0;
    std::atomic<bool> m_released{false};
};

// Kernel start time of a process, 0 when it does not exist or none of its threads runs any more. Unknown when
// this process cannot look, for want of a descriptor, say: then it must be taken for alive.
inline constexpr uint64_t unknown_start = UINT64_MAX;
uint64_t process_start_time(pid_t pid);

} // namespace softrdma
