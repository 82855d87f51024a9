// SPDX-License-Identifier: BSD-3-Clause
//
// Execution of one work request by the initiator, start to end: the local memory is checked, the target
// queue pair looked up and checked, data moved, and the target's completion added. The requester's own
// completion is the caller's business.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softrdma {

class queue_pair;

struct outcome {
    enum class kind {
        done,
        no_receive, // RNR: nothing was changed
        travels, // the fabric model has to say when it arrives: nothing was changed
        waits, // for the target's process, which carries it out (relay.h)
        no_response, // the peer, its queue pair or the way to it is not there
        failed // with `status`
    };

    kind what            = kind::done;
    ibv_wc_status status = IBV_WC_SUCCESS;
    uint32_t bytes       = 0;
    uint32_t rnr_timer   = 0; // the responder's min_rnr_timer

    static outcome done(uint64_t bytes)
    {
        return {kind::done, IBV_WC_SUCCESS, static_cast<uint32_t>(bytes), 0};
    }
    static outcome no_receive(uint32_t timer)
    {
        return {kind::no_receive, IBV_WC_SUCCESS, 0, timer};
    }
    static outcome travels()
    {
        return {kind::travels, IBV_WC_SUCCESS, 0, 0};
    }
    static outcome waits()
    {
        return {kind::waits, IBV_WC_SUCCESS, 0, 0};
    }
    static outcome no_response()
    {
        return {kind::no_response, IBV_WC_SUCCESS, 0, 0};
    }
    static outcome failed(ibv_wc_status status)
    {
        return {kind::failed, status, 0, 0};
    }
};

// Called with the queue pair's lock held. `counted`: the fabric model has counted what was sent.
outcome execute(queue_pair &qp, const ibv_send_wr &wr, bool counted = false);

// Where a request goes.
struct target_place {
    bool exists; // there can be such a port
    uint32_t slot;
    uint32_t device;
    uint32_t index; // of the queue pair
};
target_place find_target(const queue_pair &qp, const ibv_send_wr &wr);

} // namespace softrdma
