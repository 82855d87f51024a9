// SPDX-License-Identifier: BSD-3-Clause
#include "mr.h"

#include "guard.h"
#include "mw.h"
#include "process.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

namespace softrdma {
namespace {

constexpr unsigned remote_change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned supported     = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                               IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                               IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;

// 0 or the errno a registration with these rights fails with.
int check_access(unsigned access)
{
    if ((access & ~supported) != 0) {
        return EOPNOTSUPP; // on-demand paging
    }
    if (((access & remote_change) != 0) && ((access & IBV_ACCESS_LOCAL_WRITE) == 0)) {
        return EINVAL;
    }
    return 0;
}

struct pages {
    void *first;
    size_t bytes;
};

pages pages_of(void *addr, size_t length)
{
    const auto page  = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(addr) / page * page;
    const auto last  = (reinterpret_cast<uintptr_t>(addr) + length + page - 1) / page *
                      page;
    return {reinterpret_cast<void *>(first), last - first};
}

// A device pins the pages, so it finds out when they are not there or may not be written. The same here,
// and they are resident afterwards.
int check_memory(void *addr, size_t length, unsigned access)
{
    if (length == 0) {
        return 0;
    }
    if (reinterpret_cast<uintptr_t>(addr) + length < length) {
        return EINVAL;
    }
    const pages range = pages_of(addr, length);
    auto populate     = [&](int advice) {
        return (madvise(range.first, range.bytes, advice) == 0) ? 0 : errno;
    };
    bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
    int failure = populate(writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    if ((failure == ENOMEM) || (failure == EFAULT)) {
        return EFAULT;
    }
    // EINVAL is a kernel before 5.14, or memory of a device, neither of which can be populated in any
    // way; or memory that may only be read.
    bool read_only = writes && (failure == EINVAL) && (populate(MADV_POPULATE_READ) == 0);
    return read_only ? EFAULT : 0;
}

size_t limit_of(const process &owner)
{
    return size_t{owner.config.locked} << 20;
}

} // namespace

uint32_t next_key(uint32_t index)
{
    static std::atomic<uint32_t> next_tag{1};
    return (index << 8) | (next_tag.fetch_add(1, std::memory_order_relaxed) & 0xff);
}

std::shared_ptr<region> region::create(process &owner, ibv_pd *pd, void *addr,
                                       size_t length, uint64_t iova, unsigned access)
{
    int failure = check_access(access);
    if (failure == 0) {
        failure = check_memory(addr, length, access);
    }
    if (failure != 0) {
        errno = failure;
        return nullptr;
    }
    if (!owner.locked.take(pages_of(addr, length).bytes, limit_of(owner))) {
        errno = ENOMEM;
        return nullptr;
    }
    uint32_t index = owner.mrs.reserve();
    if (index == 0) {
        owner.locked.give(pages_of(addr, length).bytes);
        errno = ENOMEM;
        return nullptr;
    }

    auto fresh      = std::make_shared<region>(owner, pd, index);
    fresh->m_key    = next_key(index);
    fresh->m_addr   = addr;
    fresh->m_length = length;

    mr_shared &shared = owner.seg.base()->mrs[index];
    shared.kind       = memory_kind::region;
    shared.pd         = pd->handle;
    shared.access     = access;
    shared.addr       = reinterpret_cast<uint64_t>(addr);
    shared.length     = length;
    shared.iova       = (access & IBV_ACCESS_ZERO_BASED) ? 0 : iova;
    shared.key.store(fresh->m_key, std::memory_order_release);
    owner.mrs.publish(index, fresh);
    return fresh;
}

void region::describe(memory_region &name) const
{
    name.addr   = m_addr;
    name.length = m_length;
    name.handle = m_index;
    name.lkey   = m_key;
    name.rkey   = m_key;
}

// 0 or the errno of such a change.
int region::check_change(int flags, ibv_pd *pd, void *addr, size_t length,
                         unsigned access) const
{
    if (((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0) || (flags == 0) || (m_key == 0) ||
        ((flags & IBV_REREG_MR_CHANGE_PD) && (pd == nullptr))) {
        return EINVAL;
    }
    int failure = check_access(access);
    if (failure == 0) {
        bool move = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
        failure   = check_memory(move ? addr : m_addr, move ? length : m_length, access);
    }
    if (failure != 0) {
        return failure;
    }
    return m_owner.windows.any_bound(m_index) ? EBUSY : 0;
}

int region::change(memory_region &name, int flags, ibv_pd *pd, void *addr, size_t length,
                   int access)
{
    std::lock_guard lock(m_mutex);
    mr_shared &shared = m_owner.seg.base()->mrs[m_index];
    unsigned rights   = (flags & IBV_REREG_MR_CHANGE_ACCESS) ?
                                static_cast<unsigned>(access) :
                                shared.access;
    int failure       = check_change(flags, pd, addr, length, rights);
    const bool move   = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    if ((failure == 0) && move &&
        !m_owner.locked.take(pages_of(addr, length).bytes, limit_of(m_owner))) {
        failure = ENOMEM;
    }
    if (failure != 0) {
        errno = failure;
        return IBV_REREG_MR_ERR_INPUT;
    }

    shared.key.store(0, std::memory_order_seq_cst);
    m_owner.seg.base()->memory_epoch.fetch_add(1, std::memory_order_seq_cst);
    quiesce(m_owner.reg, m_owner.reg.own_slot());
    if (move) {
        m_owner.locked.give(pages_of(m_addr, m_length).bytes);
        m_addr        = addr;
        m_length      = length;
        shared.addr   = reinterpret_cast<uint64_t>(addr);
        shared.length = length;
        shared.iova   = (rights & IBV_ACCESS_ZERO_BASED) ? 0 : shared.addr;
        // Who knows the old key would reach other memory than it was given.
        m_key = next_key(m_index);
    }
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        m_domain.move_to(pd);
        name.pd   = pd;
        shared.pd = pd->handle;
    }
    shared.access = rights;
    describe(name);
    shared.key.store(m_key, std::memory_order_release);
    return 0;
}

int region::close()
{
    std::lock_guard lock(m_mutex);
    if (m_key == 0) {
        return EINVAL;
    }
    if (!m_owner.windows.close_region(m_index)) {
        return EBUSY;
    }
    m_owner.seg.base()->memory_epoch.fetch_add(1, std::memory_order_seq_cst);
    quiesce(m_owner.reg, m_owner.reg.own_slot());
    m_key = 0;
    m_owner.locked.give(pages_of(m_addr, m_length).bytes);
    m_domain.leave();
    m_owner.mrs.erase(m_index);
    return 0;
}

} // namespace softrdma
