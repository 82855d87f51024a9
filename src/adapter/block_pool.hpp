// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for large bodies that is used again, from regions that the UCP contexts of this
// process have mapped: fresh pages cost more to touch, and to register, than the transfer
// that fills them.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ucp/api/ucp.h>

namespace be::adapter {

// `size` bytes, undefined; goes back to the pool with the last reference. Throws
// std::bad_alloc.
std::shared_ptr<std::byte[]> pooled(size_t size);

// The same, of the C library's.
std::shared_ptr<std::byte[]> unpooled(size_t size);

// As long as it lives, the context knows the pool's regions. Once UCX has refused one, none
// is mapped any more: UCP then registers what it transfers of them.
class PoolUser {
public:
    explicit PoolUser(ucp_context_h context);
    ~PoolUser();
    PoolUser(const PoolUser &)            = delete;
    PoolUser &operator=(const PoolUser &) = delete;

private:
    ucp_context_h m_context;
};

struct PoolStats {
    size_t regions  = 0;
    size_t bytes    = 0; // in regions
    size_t live     = 0; // bytes in blocks that are out
    size_t mappings = 0; // of regions by contexts
};

PoolStats pool_stats();

} // namespace be::adapter
