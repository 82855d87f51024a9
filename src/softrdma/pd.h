// SPDX-License-Identifier: BSD-3-Clause
//
// Protection domains. A domain is known by its handle; an ibv_pd is a name for it, and ibv_import_pd() makes
// another one.
//
// Thread rules: any thread.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace softrdma {

struct domain {
    uint32_t handle      = 0;
    ibv_context *context = nullptr; // it was allocated in
    std::atomic<uint32_t> users{0}; // objects in it
};

// All domains of a process.
class domain_table {
public:
    // Null when there are too many.
    std::shared_ptr<domain> create(ibv_context *context);

    // Null when there is none.
    std::shared_ptr<domain> find(uint32_t handle);

    // 0, EBUSY when objects are in it, EINVAL when it is gone already.
    int destroy(const domain &which);

    // Forgets what was allocated in a context that closes.
    void forget(const ibv_context *context);

private:
    std::mutex m_mutex;
    std::map<uint32_t, std::shared_ptr<domain>> m_domains;
    uint32_t m_next = 1;
};

struct protection_domain : ibv_pd {
    std::shared_ptr<domain> shared;

    static protection_domain *from(ibv_pd *pd)
    {
        return static_cast<protection_domain *>(pd);
    }
};

// Gives the domain a name in `context`; the caller owns it.
protection_domain *name_domain(ibv_context *context, std::shared_ptr<domain> shared);

// An object's place in its domain, as a member of the object.
class domain_user {
public:
    explicit domain_user(ibv_pd *pd) : m_domain(protection_domain::from(pd)->shared)
    {
        ++m_domain->users;
    }

    ~domain_user()
    {
        leave();
    }

    domain_user(const domain_user &)            = delete;
    domain_user &operator=(const domain_user &) = delete;

    // Before the end of the object, which somebody may still be looking at.
    void leave()
    {
        if (m_inside) {
            --m_domain->users;
            m_inside = false;
        }
    }

    void move_to(ibv_pd *pd)
    {
        --m_domain->users;
        m_domain = protection_domain::from(pd)->shared;
        ++m_domain->users;
    }

    uint32_t handle() const
    {
        return m_domain->handle;
    }

private:
    std::shared_ptr<domain> m_domain;
    bool m_inside = true;
};

} // namespace softrdma
