// SPDX-License-Identifier: BSD-3-Clause
//
// One verbs device, its protection domain and the memory that comes from it: what a memory domain is to UCX.
// Threads: any.

#pragma once

#include "engine/c_api.h"
#include "memory/arena.hpp"
#include "verbs/discovery.hpp"
#include "verbs/protection_domain.hpp"

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

private:
    verbs::Context m_context;
    verbs::ProtectionDomain m_pd;
    memory::Arena m_local;
    memory::Arena m_remote;
};

} // namespace be::engine
