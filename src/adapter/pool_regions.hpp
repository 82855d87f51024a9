// SPDX-License-Identifier: BSD-3-Clause
//
// The regions of the pool of bodies, and the UCP contexts that have mapped them.
//
// Threads: any.
#pragma once

#include "adapter/block_pool.hpp"
#include "memory/registration.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace be::adapter {

class PoolRegions {
public:
    // Of the heap; lives as long as it does.
    memory::Registrar registrar();

    void attach(ucp_context_h context);
    // Before the context goes.
    void detach(ucp_context_h context) noexcept;

    size_t bytes() const noexcept
    {
        return m_bytes.load(std::memory_order_relaxed);
    }

    PoolStats stats() const; // all but live

private:
    using Mappings = std::map<void *, ucp_mem_h>; // by the region's address

    memory::Registration add(void *address, size_t length);
    void
    map_into(ucp_context_h context, Mappings &mappings, void *address, size_t length);
    static void unmap_all(ucp_context_h context, Mappings &mappings) noexcept;
    void remove(void *address) noexcept;

    mutable std::mutex m_mutex;
    std::map<void *, size_t> m_regions; // their lengths
    std::map<ucp_context_h, Mappings> m_contexts;
    bool m_refused = false; // UCX has refused a region: none is mapped any more
    std::atomic<size_t> m_bytes{0};
};

} // namespace be::adapter
