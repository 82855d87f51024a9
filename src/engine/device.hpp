// SPDX-License-Identifier: BSD-3-Clause
//
// One verbs device, its protection domain and the memory that comes from it: what a memory domain is to UCX.
// Threads: any.

#pragma once

#include "engine/c_api.h"
#include "engine/device_events.hpp"
#include "engine/remote_keys.hpp"
#include "memory/arena.hpp"
#include "verbs/discovery.hpp"
#include "verbs/protection_domain.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace be::engine {

verbs::SoftMode to_verbs(be_soft_mode_t mode) noexcept;

class Device {
public:
    // Throws verbs::Error, std::system_error with what was not found.
    Device(const std::string &name, verbs::SoftMode mode);

    const verbs::Context &context() const noexcept
    {
        return m_context;
    }

    const verbs::ProtectionDomain &pd() const noexcept
    {
        return m_pd;
    }

    DeviceEvents &events() noexcept
    {
        return m_events;
    }

    // Buffers that only this process touches: receives, staging.
    memory::Arena &local_memory() noexcept
    {
        return m_local;
    }

    // Memory that peers may read and write: credit cells, what the application allocates.
    memory::Arena &remote_memory() noexcept
    {
        return m_remote;
    }

    // What peers may reach where no device checks it: all that is registered for them.
    RemoteKeys &keys() noexcept
    {
        return m_keys;
    }

    // Registers user memory; as MemoryRegion::attempt().
    verbs::MemoryRegion register_memory(void *address, std::size_t length,
                                        unsigned access, int *error) noexcept
    {
        m_registrations.fetch_add(1, std::memory_order_relaxed);
        return verbs::MemoryRegion::attempt(m_pd, address, length, access, error);
    }

    // What applications send can be registered; else too little memory may be locked.
    bool zero_copy() const noexcept
    {
        return m_zero_copy;
    }

    // Calls of ibv_reg_mr so far, for arenas and for user memory.
    std::uint64_t registrations() const noexcept
    {
        return m_registrations.load(std::memory_order_relaxed);
    }

private:
    explicit Device(const verbs::PortReport &port);

    memory::Registrar registrar(unsigned access);

    verbs::Context m_context;
    const bool m_zero_copy;
    verbs::ProtectionDomain m_pd;
    DeviceEvents m_events;
    std::atomic<std::uint64_t> m_registrations{0};
    RemoteKeys m_keys;
    memory::Arena m_local;
    memory::Arena m_remote;
};

} // namespace be::engine
