// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows: rkeys for parts of a region that come and go by work requests. A window of type 1 is good
// for all queue pairs of its domain and opened by ibv_bind_mw(); one of type 2 is good for the queue pair
// that bound it (type 2B) and invalidated by either side. Windows share the table of regions, so that an
// rkey is looked up in one place.
//
// Thread rules: any thread; invalidate_remote(): any thread of any process, inside an execution_guard.
#pragma once

#include "layout.h"
#include "pd.h"

#include <infiniband/verbs.h>

#include <map>
#include <mutex>

namespace softrdma {

class process;
class queue_pair;

// The windows of a process. Its lock orders bindings and the end of what they open.
class window_table {
public:
    explicit window_table(process &owner) : m_owner(owner)
    {
    }

    void add(uint32_t index, const ibv_context *context);

    // Invalidates it and waits for who uses it.
    void remove(uint32_t index);

    // The same for all of a context that closes.
    void forget(const ibv_context *context);

    // Executes IBV_WR_BIND_MW. Its window is named by the rkey and the region by the lkey in
    // `invalidate_rkey` (0: none), as the objects may be gone when a request had to wait.
    bool bind(const queue_pair &qp, const ibv_send_wr &wr);

    // Executes IBV_WR_LOCAL_INV.
    bool invalidate(const queue_pair &qp, uint32_t rkey);

    bool any_bound(uint32_t region);

    // Makes a region's key invalid, unless a window is bound to it.
    bool close_region(uint32_t region);

private:
    bool bound_locked(uint32_t region);
    void close_locked(uint32_t index);

    process &m_owner;
    std::mutex m_mutex;
    std::map<uint32_t, const ibv_context *> m_contexts; // by index
};

// What SEND_WITH_INV asks of the queue pair `qp_num`; false when the key is not of a window that it bound.
bool invalidate_remote(segment_layout *where, uint32_t rkey, uint32_t pd,
                       uint32_t qp_num);

// Entry points of the context.
ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type);
int dealloc_mw(ibv_mw *mw);
int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind);

} // namespace softrdma
