// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queues.
//
// Thread rules: any thread of the owner.
#pragma once

#include "events.h"
#include "pd.h"
#include "rq.h"

#include <infiniband/verbs.h>

#include <atomic>

namespace softrdma {

class shared_receive_queue : public ibv_srq {
public:
    // Null with errno. The attributes return what was created.
    static shared_receive_queue *
    create(process &owner, ibv_pd *pd, ibv_srq_init_attr &attr);

    static shared_receive_queue *from(ibv_srq *srq)
    {
        return static_cast<shared_receive_queue *>(srq);
    }

    int modify(const ibv_srq_attr &attr, int mask);
    void query(ibv_srq_attr &attr);

    // 0 or EBUSY. Waits for the application to acknowledge its events, then frees the object.
    int destroy();

    // Raises the event of a limit that a sender found reached.
    void check_limit();

    receive_queue &receives()
    {
        return m_receives;
    }

    uint32_t index() const
    {
        return m_index;
    }

    std::atomic<uint32_t> users{0}; // queue pairs

    // Only for create(): make_shared needs it.
    shared_receive_queue(process &owner, ibv_pd *pd, uint32_t index);

private:
    process &m_owner;
    const uint32_t m_index;
    receive_queue m_receives;
    event_target m_events;
    domain_user m_domain;
    uint32_t m_max_sge = 0;
};

// Entry point of the context.
int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad);

} // namespace softrdma
