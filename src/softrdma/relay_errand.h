// SPDX-License-Identifier: BSD-3-Clause
//
// One relayed request at its target. Every check that a requester makes is made again here, the memory's before
// each piece, so that deregistration means to it what it means to any other operation.
//
// Thread rules: one thread at a time.
#pragma once

#include "execute.h"
#include "relay_window.h"
#include "rq.h"

namespace softrdma {

class peer;
class process;

class errand {
public:
    errand(process &owner, uint32_t qp, uint64_t state, uint64_t generation) :
        m_owner(&owner), m_qp(qp), m_state(state), m_generation(generation)
    {
    }

    // Goes on as far as there is data, or room for it. True when it is over; the answer is written down then,
    // and what it had taken is used up or given back. Inside an execution_guard toward the requester.
    bool proceed(const relay_window &window, peer &from);

    // Gives back what it has taken: it is not ended.
    void let_go();

    // Whether it is that request, in its open state, of that incarnation of the requester.
    bool is(uint64_t state, uint64_t generation) const
    {
        return (m_state == state) && (m_generation == generation);
    }

    uint32_t qp() const
    {
        return m_qp;
    }

    uint64_t state() const
    {
        return m_state;
    }

private:
    enum class step {
        waits,
        moved,
        over
    };

    step next_piece(const relay_window &window);
    bool take_receive(relay_shared &request);
    bool find_memory(relay_shared &request, memory_list &memory);
    int move(const relay_window &window, const memory_list &memory, bool &moved);
    int change_word(const relay_window &window, const memory_list &word, bool &moved);
    void complete(relay_shared &request);
    void transfer_failed(relay_shared &request);
    void end_receive(relay_shared &request, ibv_wc_status status);
    void
    fail_receive(relay_shared &request, ibv_wc_status responder, ibv_wc_status requester);
    qp_shared &target() const;
    rq_shared &queue() const;
    uint32_t number() const;

    process *m_owner;
    uint32_t m_qp;
    uint64_t m_state;
    uint64_t m_generation;
    rq_shared *m_queue = nullptr; // that it has taken a receive from
    claimed_receive m_receive;
};

} // namespace softrdma
