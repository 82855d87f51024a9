// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queue. Posting is as thread-safe as the device makes it (verbs: yes);
// nothing throws there.
#pragma once

#include "verbs/protection_domain.hpp"

namespace be::verbs {

class SharedReceiveQueue {
public:
    // Throws Error; asking for more than the device has says what it has.
    SharedReceiveQueue(const Context &context, const ProtectionDomain &pd,
                       unsigned max_receives, unsigned max_sge = 1);

    ibv_srq *get() const noexcept
    {
        return m_handle.get();
    }

    // What the device gave: at least what was asked for.
    unsigned max_receives() const noexcept
    {
        return m_max_receives;
    }

    // Posts a chain. 0, or an errno value and *bad is the first that was not posted.
    int post(ibv_recv_wr *chain, ibv_recv_wr **bad) noexcept
    {
        ibv_srq *srq = m_handle.get();
        return srq->context->ops.post_srq_recv(srq, chain, bad);
    }

    // IBV_EVENT_SRQ_LIMIT_REACHED once when fewer than `limit` receives are posted; 0:
    // never. Throws Error.
    void set_limit(unsigned limit);

private:
    Handle<ibv_srq, &Table::destroy_srq> m_handle;
    unsigned m_max_receives = 0;
};

} // namespace be::verbs
