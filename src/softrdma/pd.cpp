// SPDX-License-Identifier: BSD-3-Clause
#include "pd.h"

#include "sizes.h"

#include <cerrno>

namespace softrdma {

std::shared_ptr<domain> domain_table::create(ibv_context *context)
{
    std::lock_guard lock(m_mutex);
    if (m_domains.size() >= limits::pds) {
        return nullptr;
    }
    while ((m_next == 0) || m_domains.contains(m_next)) {
        ++m_next;
    }
    auto fresh     = std::make_shared<domain>();
    fresh->handle  = m_next++;
    fresh->context = context;
    m_domains.emplace(fresh->handle, fresh);
    return fresh;
}

std::shared_ptr<domain> domain_table::find(uint32_t handle)
{
    std::lock_guard lock(m_mutex);
    auto found = m_domains.find(handle);
    return (found == m_domains.end()) ? nullptr : found->second;
}

int domain_table::destroy(const domain &which)
{
    std::lock_guard lock(m_mutex);
    auto found = m_domains.find(which.handle);
    if ((found == m_domains.end()) || (found->second.get() != &which)) {
        return EINVAL;
    }
    if (which.users.load() != 0) {
        return EBUSY;
    }
    m_domains.erase(found);
    return 0;
}

void domain_table::forget(const ibv_context *context)
{
    std::lock_guard lock(m_mutex);
    std::erase_if(m_domains,
                  [&](const auto &entry) { return entry.second->context == context; });
}

protection_domain *name_domain(ibv_context *context, std::shared_ptr<domain> shared)
{
    auto *pd    = new protection_domain{};
    pd->context = context;
    pd->handle  = shared->handle;
    pd->shared  = std::move(shared);
    return pd;
}

} // namespace softrdma
