// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that their target's process carries out. Where the system does not let the requester reach the
// target's memory (cma.h), it writes the request into a relay_shared of its own segment and calls the target;
// a thread there that polls, or its service thread, checks the request as any requester would, moves the data
// through the request's window and answers (relay_server.h). Meanwhile the request waits at the head of its
// send queue. Of a target that gets nowhere the requester thinks as of one that does not answer.
//
// A request that is given up leaves its relay_shared behind until the target has let go of it or is dead.
//
// Thread rules: with the queue pair's lock held.
#pragma once

#include "execute.h"
#include "layout.h"

#include <cstdint>

namespace softrdma {

struct memory_list;
struct operation;
class process;
class queue_pair;

class relayed_request {
public:
    relayed_request(process &owner, uint32_t index, uint64_t open);
    ~relayed_request(); // gives it up, if it was not answered
    relayed_request(const relayed_request &)            = delete;
    relayed_request &operator=(const relayed_request &) = delete;

    // Moves the data on. The outcome when it was answered; waits when it got on since the last call;
    // no_response when it did not.
    outcome advance(const memory_list &local);

    // Whether the target did something that advance() has not seen.
    bool got_on() const;

    // Whether the target lives and has not answered.
    bool may_answer() const;

private:
    process &m_owner;
    const uint32_t m_index;
    relay_shared &m_shared;
    const bool m_reads;
    const uint64_t m_open; // its state until it is answered
    uint64_t m_seen = 0; // how far the target was
};

// Hands the operation to its target's process. `data` is what it moves from or to here, with what goes in front
// of it; `receive` describes the completion of the receive it takes, if it takes one.
outcome begin_relay(const operation &op, relay_kind kind, uint64_t remote_addr,
                    const memory_list &data, const completion *receive = nullptr);

// The next attempt at a request that was handed over.
outcome resume_relay(queue_pair &qp, const ibv_send_wr &wr);

} // namespace softrdma
