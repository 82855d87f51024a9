// SPDX-License-Identifier: BSD-3-Clause
#include "mw.h"

#include "context.h"
#include "guard.h"
#include "keys.h"
#include "mr.h"
#include "qp.h"

#include <cerrno>

namespace softrdma {
namespace {

constexpr unsigned remote_change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned window_rights = remote_change | IBV_ACCESS_REMOTE_READ |
                                   IBV_ACCESS_ZERO_BASED;

struct memory_window : ibv_mw {
    explicit memory_window(ibv_pd *owner_pd) : ibv_mw{}, domain(owner_pd)
    {
    }

    domain_user domain;

    static memory_window *from(ibv_mw *mw)
    {
        return static_cast<memory_window *>(mw);
    }
};

mr_shared &entry_of(segment_layout *where, uint32_t key)
{
    return where->mrs[(key >> 8) % limits::mrs];
}

} // namespace

void window_table::add(uint32_t index, const ibv_context *context)
{
    std::lock_guard lock(m_mutex);
    m_contexts.emplace(index, context);
}

void window_table::close_locked(uint32_t index)
{
    m_owner.seg.base()->mrs[index].key.store(0, std::memory_order_seq_cst);
    quiesce(m_owner.reg, m_owner.reg.own_slot());
}

void window_table::remove(uint32_t index)
{
    std::lock_guard lock(m_mutex);
    close_locked(index);
    m_contexts.erase(index);
}

void window_table::forget(const ibv_context *context)
{
    std::lock_guard lock(m_mutex);
    std::erase_if(m_contexts, [&](const auto &entry) {
        if (entry.second != context) {
            return false;
        }
        close_locked(entry.first);
        m_owner.mrs.erase(entry.first);
        return true;
    });
}

bool window_table::bound_locked(uint32_t region)
{
    for (const auto &[index, context] : m_contexts) {
        const mr_shared &window = m_owner.seg.base()->mrs[index];
        if ((window.key.load(std::memory_order_acquire) != 0) &&
            (window.region == region)) {
            return true;
        }
    }
    return false;
}

bool window_table::any_bound(uint32_t region)
{
    std::lock_guard lock(m_mutex);
    return bound_locked(region);
}

bool window_table::close_region(uint32_t region)
{
    std::lock_guard lock(m_mutex);
    if (bound_locked(region)) {
        return false;
    }
    m_owner.seg.base()->mrs[region].key.store(0, std::memory_order_seq_cst);
    return true;
}

bool window_table::bind(const queue_pair &qp, const ibv_send_wr &wr)
{
    const ibv_mw_bind_info &info = wr.bind_mw.bind_info;
    uint32_t index               = (wr.bind_mw.rkey >> 8) % limits::mrs;
    uint32_t lkey                = wr.invalidate_rkey;
    unsigned rights              = info.mw_access_flags & window_rights;
    std::lock_guard lock(m_mutex);
    if (!m_contexts.contains(index)) {
        return false;
    }
    mr_shared &window = m_owner.seg.base()->mrs[index];
    if (window.pd != qp.pd_index) {
        return false;
    }
    bool bound = window.kind == memory_kind::bound_window;
    // Only a free window of type 2 can be bound, and not to nothing; one of type 1 is closed that way.
    if (bound && ((window.key.load() != 0) || (info.length == 0))) {
        return false;
    }
    if (info.length == 0) {
        close_locked(index);
        return true;
    }

    const mr_shared &region = entry_of(m_owner.seg.base(), lkey);
    uint64_t needed         = IBV_ACCESS_MW_BIND |
                      (((rights & remote_change) != 0) ? IBV_ACCESS_LOCAL_WRITE : 0);
    uint64_t addr = find_local_memory(m_owner.seg.base(), lkey, qp.pd_index,
                                      static_cast<uint32_t>(needed), info.addr,
                                      info.length);
    if (addr == 0) {
        return false;
    }
    close_locked(index);
    window.access = rights;
    window.addr   = addr;
    window.length = info.length;
    window.iova   = (rights & IBV_ACCESS_ZERO_BASED) ? 0 : info.addr;
    window.qp_num = qp.qp_base.qp_num;
    window.region = static_cast<uint32_t>(&region - m_owner.seg.base()->mrs);
    window.key.store(wr.bind_mw.rkey, std::memory_order_release);
    return true;
}

bool window_table::invalidate(const queue_pair &qp, uint32_t rkey)
{
    if (!invalidate_remote(m_owner.seg.base(), rkey, qp.pd_index, qp.qp_base.qp_num)) {
        return false;
    }
    quiesce(m_owner.reg, m_owner.reg.own_slot());
    return true;
}

bool invalidate_remote(segment_layout *where, uint32_t rkey, uint32_t pd, uint32_t qp_num)
{
    mr_shared &window = entry_of(where, rkey);
    if ((rkey == 0) || (window.kind != memory_kind::bound_window) || (window.pd != pd) ||
        (window.qp_num != qp_num)) {
        return false;
    }
    uint32_t expected = rkey;
    return window.key.compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
}

ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type)
{
    if (!is_usable(pd->context)) {
        errno = EIO;
        return nullptr;
    }
    if ((type != IBV_MW_TYPE_1) && (type != IBV_MW_TYPE_2)) {
        errno = EINVAL;
        return nullptr;
    }
    process &owner = *device_context::from(pd->context)->owner;
    uint32_t index = owner.mrs.reserve();
    if (index == 0) {
        errno = ENOMEM;
        return nullptr;
    }
    mr_shared &shared = owner.seg.base()->mrs[index];
    shared.kind       = (type == IBV_MW_TYPE_1) ? memory_kind::window :
                                                  memory_kind::bound_window;
    shared.pd         = pd->handle;
    shared.region     = 0;
    owner.windows.add(index, pd->context);

    auto *window    = new memory_window(pd);
    window->context = pd->context;
    window->pd      = pd;
    window->rkey    = next_key(index);
    window->handle  = index;
    window->type    = type;
    return window;
}

int dealloc_mw(ibv_mw *mw)
{
    if (!is_usable(mw->context)) {
        return EIO;
    }
    process &owner = *device_context::from(mw->context)->owner;
    owner.windows.remove(mw->handle);
    owner.mrs.erase(mw->handle);
    delete memory_window::from(mw);
    return 0;
}

int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind)
{
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id             = bind->wr_id;
    wr.opcode            = IBV_WR_BIND_MW;
    wr.send_flags        = bind->send_flags;
    wr.bind_mw.mw        = mw;
    wr.bind_mw.rkey      = ibv_inc_rkey(mw->rkey);
    wr.bind_mw.bind_info = bind->bind_info;
    int failure          = post_send(qp, &wr, &bad);
    if (failure == 0) {
        mw->rkey = wr.bind_mw.rkey;
    }
    return failure;
}

} // namespace softrdma
