// SPDX-License-Identifier: BSD-3-Clause
//
// Memory regions: what makes memory reachable, by the owner's lkey and by peers' rkeys (they are equal
// here). The entry in the shared segment is what is checked, at every access, by whoever executes.
//
// Thread rules: any thread. Deregistration waits until no execution of any process can still be using
// the region.
#pragma once

#include "layout.h"

#include <infiniband/verbs.h>

namespace softrdma {

class process;

class memory_region : public ibv_mr {
public:
    // Null with errno: EINVAL (access), EOPNOTSUPP, EFAULT (memory not there or read-only), ENOMEM.
    static memory_region *create(process &owner, ibv_pd *pd, void *addr, size_t length,
                                 uint64_t iova, unsigned access);

    static memory_region *from(ibv_mr *mr)
    {
        return static_cast<memory_region *>(mr);
    }

    // Changes what `flags` names. 0 or an ibv_rereg_mr_err_code.
    int change(int flags, ibv_pd *pd, void *addr, size_t length, int access);

    // Invalidates, waits and frees.
    void close();

    // Only for create(): make_shared needs it.
    memory_region(process &owner, uint32_t index) :
        ibv_mr{}, m_owner(owner), m_index(index)
    {
    }

private:
    process &m_owner;
    const uint32_t m_index;
};

// Finds the region of `key` and checks domain, rights and range. The address in the segment owner's
// memory that belongs to `addr`, or 0.
uint64_t find_memory(segment_layout *where, uint32_t key, uint32_t pd, uint32_t rights,
                     uint64_t addr, uint64_t length);

} // namespace softrdma
