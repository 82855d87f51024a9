// SPDX-License-Identifier: BSD-3-Clause
//
// Memory regions: what makes memory reachable, by the owner's lkey and by peers' rkeys (they are equal
// here). The entry in the shared segment is what is checked, at every access, by whoever executes. A region
// is known by its handle, which is its index there; an ibv_mr is a name for it, and ibv_import_mr() makes
// another one.
//
// Thread rules: any thread. Deregistration waits until no execution of any process can still be using
// the region.
#pragma once

#include "layout.h"
#include "pd.h"

#include <infiniband/verbs.h>

#include <memory>
#include <mutex>

namespace softrdma {

class process;
struct memory_region;

class region {
public:
    // Null with errno: EINVAL (access), EOPNOTSUPP, EFAULT (memory not there or read-only), ENOMEM.
    static std::shared_ptr<region> create(process &owner, ibv_pd *pd, void *addr,
                                          size_t length, uint64_t iova, unsigned access);

    // Changes what `flags` names, and `name` accordingly. 0 or an ibv_rereg_mr_err_code with errno.
    int change(memory_region &name, int flags, ibv_pd *pd, void *addr, size_t length,
               int access);

    // Invalidates and waits. 0, EBUSY while a window is bound to it, EINVAL when it is gone already.
    int close();

    // The name's fields for this region.
    void describe(memory_region &name) const;

    uint32_t pd_handle() const
    {
        return m_domain.handle();
    }

    ibv_context *context() const
    {
        return m_context;
    }

    // Only for create(): make_shared needs it.
    region(process &owner, ibv_pd *pd, uint32_t index) :
        m_owner(owner), m_context(pd->context), m_index(index), m_domain(pd)
    {
    }

private:
    int
    check_change(int flags, ibv_pd *pd, void *addr, size_t length, unsigned access) const;

    process &m_owner;
    ibv_context *const m_context; // it was registered in
    const uint32_t m_index;
    std::mutex m_mutex; // changes and the end
    domain_user m_domain;
    uint32_t m_key  = 0; // 0: closed
    void *m_addr    = nullptr;
    size_t m_length = 0;
};

struct memory_region : ibv_mr {
    std::shared_ptr<region> shared;

    static memory_region *from(ibv_mr *mr)
    {
        return static_cast<memory_region *>(mr);
    }
};

// A key for the entry of that index.
uint32_t next_key(uint32_t index);

} // namespace softrdma
