// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/protection_domain.hpp"

#include "verbs/error.hpp"

#include <cerrno>
#include <cstdio>

namespace be::verbs {
namespace {

ibv_pd *allocate(const Context &context)
{
    errno      = 0;
    ibv_pd *pd = context.table().alloc_pd(context.get());
    if (pd == nullptr) {
        throw Error(context.device(), "ibv_alloc_pd", "", (errno != 0) ? errno : ENOMEM);
    }
    return pd;
}

ibv_mr *register_memory(const Table &table, ibv_pd *pd, void *address, size_t length,
                        unsigned access)
{
    const unsigned optional = access & IBV_ACCESS_OPTIONAL_RANGE;
    if ((optional != 0) && (table.reg_mr_iova2 != nullptr)) {
        return table.reg_mr_iova2(pd, address, length,
                                  reinterpret_cast<uintptr_t>(address), access);
    }
    // Optional rights are hints: a library that does not know them goes without.
    return table.reg_mr(pd, address, length, static_cast<int>(access & ~optional));
}

} // namespace

ProtectionDomain::ProtectionDomain(const Context &context) :
    m_handle(context.table(), allocate(context))
{
}

MemoryRegion MemoryRegion::attempt(const ProtectionDomain &pd, void *address,
                                   size_t length, unsigned access, int *error) noexcept
{
    MemoryRegion region;

    errno      = 0;
    ibv_mr *mr = register_memory(pd.table(), pd.get(), address, length, access);
    if (mr == nullptr) {
        *error = (errno != 0) ? errno : ENOMEM;
        return region;
    }

    *error          = 0;
    region.m_handle = {pd.table(), mr};
    return region;
}

MemoryRegion::MemoryRegion(const ProtectionDomain &pd, void *address, size_t length,
                           unsigned access)
{
    int error;
    *this = attempt(pd, address, length, access, &error);
    if (error != 0) {
        char arguments[96];
        snprintf(arguments, sizeof(arguments), "address %p, length %zu, access %#x",
                 address, length, access);
        throw Error(device_name(pd.table(), pd.get()->context), "ibv_reg_mr", arguments,
                    error, registration_hint(error, pd.table().soft));
    }
}

} // namespace be::verbs
