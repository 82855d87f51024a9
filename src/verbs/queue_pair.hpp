// SPDX-License-Identifier: BSD-3-Clause
//
// Reliable-connected queue pair: create, connect (init, ready to receive, ready to send),
// fail.
//
// Flow control makes "receiver not ready" impossible, so rnr_retry is always 0: a
// violation is an error, never a stall. Signalling is by work request (sq_sig_all = 0).
// Threads: posting is as thread-safe as the device makes it; the state changes belong to
// one thread at a time.
// Errors: creation and state changes throw Error; to_error(), post_* and state() do not
// throw.
#pragma once

#include "verbs/completion_queue.hpp"
#include "verbs/shared_receive_queue.hpp"

#include <cstdint>

namespace be::verbs {

struct QueuePairCapacity {
    unsigned max_sends       = 256; // work requests outstanding
    unsigned max_receives    = 0; // ignored with a shared receive queue
    unsigned max_send_sge    = 1;
    unsigned max_receive_sge = 1;
    unsigned max_inline =
            0; // bytes wished for: the device may give less, see QueuePair::max_inline()
};

// The other end, as it told us.
struct RemoteEnd {
    uint32_t qpn = 0;
    uint32_t psn = 0; // 24 bits: of the first packet it sends
    uint16_t lid = 0; // InfiniBand
    ibv_gid gid  = {}; // used when LocalEnd::global
};

// Our end of the path.
struct LocalEnd {
    uint8_t port               = 1;
    int gid_index              = 0;
    bool global                = false; // send a GRH: always on RoCE
    uint8_t traffic_class      = 0; // GRH
    uint8_t service_level      = 0;
    uint8_t hop_limit          = 64; // GRH
    ibv_mtu mtu                = IBV_MTU_1024; // the smaller of both ends' active MTU
    uint8_t max_dest_rd_atomic = 1; // reads and atomics of the peer that we serve at once
};

// How our end sends.
struct SendLimits {
    uint32_t psn        = 0; // 24 bits: of our first packet
    uint8_t timeout     = 14; // 4.096 us * 2^timeout
    uint8_t retry_count = 6; // 0..6: 7 means for ever on some devices
    uint8_t max_rd_atomic =
            1; // reads and atomics of ours outstanding: at most what the peer serves
};

class QueuePair {
public:
    // `srq` may be null. When the device refuses max_inline, half of it is tried, and so
    // on down to none.
    QueuePair(const Context &context, const ProtectionDomain &pd,
              const CompletionQueue &send_cq, const CompletionQueue &receive_cq,
              const SharedReceiveQueue *srq, const QueuePairCapacity &capacity);

    void to_init(uint8_t port, unsigned access); // access: IBV_ACCESS_* the peer has
    void to_rtr(const RemoteEnd &remote, const LocalEnd &local);
    void to_rts(const SendLimits &limits);
    // Flushes what is posted. 0 or an errno value.
    int to_error() noexcept;
    // Back to the state after creation, nothing is flushed. 0 or an errno value.
    int to_reset() noexcept;

    ibv_qp_state state() const noexcept; // IBV_QPS_UNKNOWN when it cannot be read

    ibv_qp *get() const noexcept
    {
        return m_handle.get();
    }

    uint32_t number() const noexcept
    {
        return m_handle->qp_num;
    }

    // What the device gave.
    const QueuePairCapacity &capacity() const noexcept
    {
        return m_capacity;
    }

    unsigned max_inline() const noexcept
    {
        return m_capacity.max_inline;
    }

    // Posts a chain. 0, or an errno value and *bad is the first that was not posted.
    int post_send(ibv_send_wr *chain, ibv_send_wr **bad) noexcept
    {
        ibv_qp *qp = m_handle.get();
        return qp->context->ops.post_send(qp, chain, bad);
    }

    int post_receive(ibv_recv_wr *chain, ibv_recv_wr **bad) noexcept
    {
        ibv_qp *qp = m_handle.get();
        return qp->context->ops.post_recv(qp, chain, bad);
    }

private:
    void modify(ibv_qp_attr &attributes, int mask, const char *target);

    Handle<ibv_qp, &Table::destroy_qp> m_handle;
    QueuePairCapacity m_capacity;
};

} // namespace be::verbs
