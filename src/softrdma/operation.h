// SPDX-License-Identifier: BSD-3-Clause
//
// What the parts of an execution share: who, what, to whom.
#pragma once

#include "execute.h"
#include "peer.h"
#include "process.h"
#include "qp.h"
#include "relay.h"
#include "transfer.h"

namespace softrdma {

struct operation {
    process &me;
    queue_pair &qp;
    const ibv_send_wr &wr;
    const memory_list &local; // checked
    peer &to;
    uint32_t target_index;
    qp_shared &target;
    port_shared &remote_port;

    uint32_t target_number() const
    {
        return (to.slot << limits::qp_bits) | target_index;
    }

    bool datagram() const
    {
        return target.type == IBV_QPT_UD;
    }

    // Tells the owner of a target queue pair in RTR that its peer is there.
    void make_contact() const
    {
        if (target.state.load(std::memory_order_relaxed) == IBV_QPS_RTR) {
            report_contact();
        }
    }

    // Moves the target queue pair to the error state and reports `event` to its owner.
    void fail_target(ibv_event_type event) const;

    // The same without an event: the owner finds an error completion.
    void fail_target() const;

    // The slow part of make_contact().
    void report_contact() const;
};

// The local pieces of a request as addresses. False: an element fails the checks.
bool local_memory(const queue_pair &qp, const ibv_send_wr &wr, memory_list &result);

// What an operation that worked has moved. Requests for data count as a packet without payload.
void count_moved(const queue_pair &qp, const ibv_send_wr &wr, port_shared &there,
                 uint64_t bytes);

// Moves a queue pair of `to` to the error state and tells its owner; with an event, or without one: then it finds
// an error completion.
void fail_queue_pair(process &me, peer &to, qp_shared &target, ibv_event_type event);
void fail_queue_pair(process &me, peer &to, qp_shared &target);

// SEND: claims a receive, delivers and completes it.
outcome deliver_message(const operation &op);

// The completion of a WRITE_WITH_IMM on a receive claimed before.
outcome write_with_immediate(const operation &op, const memory_list &remote);

outcome compare_or_add(const operation &op, uint64_t remote_addr);

} // namespace softrdma
