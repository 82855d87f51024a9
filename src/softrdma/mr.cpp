// SPDX-License-Identifier: BSD-3-Clause
#include "mr.h"

#include "guard.h"
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
                               IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
                               IBV_ACCESS_OPTIONAL_RANGE;

uint32_t next_key(uint32_t index)
{
    static std::atomic<uint32_t> next_tag{1};
    return (index << 8) | (next_tag.fetch_add(1, std::memory_order_relaxed) & 0xff);
}

// 0 or the errno a registration with these rights fails with.
int check_access(unsigned access)
{
    if ((access & ~supported) != 0) {
        return EOPNOTSUPP; // memory windows, on-demand paging
    }
    if (((access & remote_change) != 0) && ((access & IBV_ACCESS_LOCAL_WRITE) == 0)) {
        return EINVAL;
    }
    return 0;
}

// A device pins the pages, so it finds out when they are not there or may not be written. The same here,
// and they are resident afterwards.
int check_memory(void *addr, size_t length, unsigned access)
{
    if (length == 0) {
        return 0;
    }
    uintptr_t page  = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t first = reinterpret_cast<uintptr_t>(addr);
    uintptr_t last  = first + length;
    if (last < first) {
        return EINVAL;
    }
    first         = first / page * page;
    last          = (last + page - 1) / page * page;
    auto populate = [&](int advice) {
        return (madvise(reinterpret_cast<void *>(first), last - first, advice) == 0) ?
                       0 :
                       errno;
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

} // namespace

memory_region *memory_region::create(process &owner, ibv_pd *pd, void *addr,
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
    uint32_t index = owner.mrs.reserve();
    if (index == 0) {
        errno = ENOMEM;
        return nullptr;
    }

    auto region     = std::make_shared<memory_region>(owner, index);
    uint32_t key    = next_key(index);
    region->context = pd->context;
    region->pd      = pd;
    region->addr    = addr;
    region->length  = length;
    region->handle  = index;
    region->lkey    = key;
    region->rkey    = key;

    mr_shared &shared = owner.seg.base()->mrs[index];
    shared.pd         = pd->handle;
    shared.access     = access;
    shared.addr       = reinterpret_cast<uint64_t>(addr);
    shared.length     = length;
    shared.iova       = (access & IBV_ACCESS_ZERO_BASED) ? 0 : iova;
    shared.key.store(key, std::memory_order_release);

    memory_region *result = region.get();
    owner.mrs.publish(index, std::move(region));
    return result;
}

int memory_region::change(int flags, ibv_pd *new_pd, void *new_addr, size_t new_length,
                          int new_access)
{
    if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    mr_shared &shared    = m_owner.seg.base()->mrs[m_index];
    bool move            = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    unsigned next_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) ? unsigned(new_access) :
                                                                  shared.access;
    int failure          = check_access(next_access);
    if (failure == 0) {
        failure = check_memory(move ? new_addr : addr, move ? new_length : length,
                               next_access);
    }
    if (failure != 0) {
        errno = failure;
        return IBV_REREG_MR_ERR_INPUT;
    }

    shared.key.store(0, std::memory_order_seq_cst);
    quiesce(m_owner.reg, m_owner.reg.own_slot());
    if (move) {
        addr          = new_addr;
        length        = new_length;
        shared.addr   = reinterpret_cast<uint64_t>(new_addr);
        shared.length = new_length;
        shared.iova   = (next_access & IBV_ACCESS_ZERO_BASED) ? 0 : shared.addr;
    }
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        pd        = new_pd;
        shared.pd = new_pd->handle;
    }
    shared.access = next_access;
    if (move) {
        // Who knows the old key would reach other memory than it was given.
        lkey = rkey = next_key(m_index);
    }
    shared.key.store(lkey, std::memory_order_release);
    return 0;
}

void memory_region::close()
{
    process &owner = m_owner;
    uint32_t index = m_index;
    owner.seg.base()->mrs[index].key.store(0, std::memory_order_seq_cst);
    quiesce(owner.reg, owner.reg.own_slot());
    owner.mrs.erase(index); // frees this object
}

uint64_t find_memory(segment_layout *where, uint32_t key, uint32_t pd, uint32_t rights,
                     uint64_t addr, uint64_t length)
{
    mr_shared &region = where->mrs[(key >> 8) % limits::mrs];
    // Sequentially consistent: pairs with the announcement of the execution this belongs to, see guard.h.
    if ((key == 0) || (region.key.load(std::memory_order_seq_cst) != key) ||
        (region.pd != pd) || ((region.access & rights) != rights)) {
        return 0;
    }
    uint64_t offset = addr - region.iova;
    if ((offset > region.length) || (length > region.length - offset)) {
        return 0;
    }
    return region.addr + offset;
}

} // namespace softrdma
