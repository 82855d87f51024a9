// SPDX-License-Identifier: BSD-3-Clause
//
// Protection domain and memory regions.
#pragma once

#include "verbs/context.hpp"

#include <cstddef>

namespace be::verbs {

class ProtectionDomain {
public:
    explicit ProtectionDomain(const Context &context); // throws Error

    ibv_pd *get() const noexcept
    {
        return m_handle.get();
    }

    const Table &table() const noexcept
    {
        return m_handle.table();
    }

private:
    Handle<ibv_pd, &Table::dealloc_pd> m_handle;
};

class MemoryRegion {
public:
    MemoryRegion() = default; // empty

    // `access`: IBV_ACCESS_*. Throws Error with what can be done about it.
    MemoryRegion(const ProtectionDomain &pd, void *address, size_t length,
                 unsigned access);

    // Same without an exception: an empty region and errno in *error. For callers that
    // probe.
    static MemoryRegion attempt(const ProtectionDomain &pd, void *address, size_t length,
                                unsigned access, int *error) noexcept;

    explicit operator bool() const noexcept
    {
        return static_cast<bool>(m_handle);
    }

    void *address() const noexcept
    {
        return m_handle->addr;
    }

    size_t length() const noexcept
    {
        return m_handle->length;
    }

    uint32_t lkey() const noexcept
    {
        return m_handle->lkey;
    }

    uint32_t rkey() const noexcept
    {
        return m_handle->rkey;
    }

private:
    Handle<ibv_mr, &Table::dereg_mr> m_handle;
};

} // namespace be::verbs
