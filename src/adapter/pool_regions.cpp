// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/pool_regions.hpp"

namespace be::adapter {

namespace {

ucs_status_t map(ucp_context_h context, void *address, size_t length, ucp_mem_h *memory)
{
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address    = address;
    params.length     = length;
    return ucp_mem_map(context, &params, memory);
}

} // namespace

memory::Registrar PoolRegions::registrar()
{
    return {.add = [this](void *address, size_t length) { return add(address, length); },
            .remove =
                    [this](const memory::Registration &registration) {
                        remove(registration.handle);
                    }};
}

memory::Registration PoolRegions::add(void *address, size_t length)
{
    std::lock_guard lock(m_mutex);
    m_regions.emplace(address, length);
    m_bytes.fetch_add(length, std::memory_order_relaxed);
    for (auto &[context, mappings] : m_contexts) {
        map_into(context, mappings, address, length);
    }
    return {.lkey = 0, .rkey = 0, .handle = address};
}

void PoolRegions::map_into(ucp_context_h context, Mappings &mappings, void *address,
                           size_t length)
{
    ucp_mem_h memory = nullptr;
    if (m_refused) {
        return;
    }
    if (map(context, address, length, &memory) == UCS_OK) {
        mappings.emplace(address, memory);
        return;
    }
    // Little memory can be locked. What UCP registers by itself it can also give up for
    // what is needed more.
    m_refused = true;
    for (auto &[each, its] : m_contexts) {
        unmap_all(each, its);
    }
}

void PoolRegions::unmap_all(ucp_context_h context, Mappings &mappings) noexcept
{
    for (const auto &[address, memory] : mappings) {
        ucp_mem_unmap(context, memory);
    }
    mappings.clear();
}

void PoolRegions::remove(void *address) noexcept
{
    std::lock_guard lock(m_mutex);
    for (auto &[context, mappings] : m_contexts) {
        const auto mapping = mappings.find(address);
        if (mapping != mappings.end()) {
            ucp_mem_unmap(context, mapping->second);
            mappings.erase(mapping);
        }
    }
    const auto region = m_regions.find(address);
    m_bytes.fetch_sub(region->second, std::memory_order_relaxed);
    m_regions.erase(region);
}

void PoolRegions::attach(ucp_context_h context)
{
    std::lock_guard lock(m_mutex);
    Mappings &mappings = m_contexts[context];
    for (const auto &[address, length] : m_regions) {
        map_into(context, mappings, address, length);
    }
}

void PoolRegions::detach(ucp_context_h context) noexcept
{
    std::lock_guard lock(m_mutex);
    unmap_all(context, m_contexts[context]);
    m_contexts.erase(context);
}

PoolStats PoolRegions::stats() const
{
    std::lock_guard lock(m_mutex);
    PoolStats stats;
    stats.regions = m_regions.size();
    stats.bytes   = bytes();
    for (const auto &[context, mappings] : m_contexts) {
        stats.mappings += mappings.size();
    }
    return stats;
}

} // namespace be::adapter
