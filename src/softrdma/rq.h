// SPDX-License-Identifier: BSD-3-Clause
//
// Receive queues, of a queue pair or shared. Receives lie in slots; a FIFO of slot numbers says in which
// order they are consumed. A message's initiator claims the oldest slot, in whichever process it runs;
// the owner posts, and takes a slot back when its completion is polled, which is what the queue's size
// counts. Small messages wait in a bounce buffer until then; bounce buffers are handed out last in first
// out and independently of the slots, so that a short queue of a deep receive queue stays in the cache. The
// smallest ones wait in their completion.
//
// A slot is free, in the FIFO, with a live claimer, or in a completion. One that is nowhere was lost by a
// claimer that died, and reclaim() posts it again.
//
// Thread rules: claim_receive(), return_receive(), carried_claim, take_bounce(), give_bounce(): any thread of any process.
// receive_queue: any thread of the owner.
#pragma once

#include "brief_lock.h"
#include "freed_slots.h"
#include "layout.h"
#include "transfer.h"
#include "vouching.h"

#include <infiniband/verbs.h>

#include <functional>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace softrdma {

class process;

// The lock of its claimers.
void lock_queue(owner_token me, segment_layout *where, rq_shared &queue);
void unlock_queue(segment_layout *where, rq_shared &queue);

struct claimed_receive {
    receive_slot *slot = nullptr;
    uint32_t index     = 0;
    bool limit_reached = false; // the owner has to be told
};

// Takes the oldest receive. False when there is none.
bool claim_receive(owner_token me, segment_layout *where, rq_shared &queue,
                   claimed_receive &result);

// Puts a receive that was claimed, and of which nothing was used, back to where it came from. Not for the normal
// course of things: the owner has to look at its receives again before it vouches for any.
void return_receive(owner_token me, segment_layout *where, rq_shared &queue,
                    uint32_t index);

// The oldest receive, for a message of so many bytes that travels in its completion. The completion has to be
// added while this lives: the queue's lock is held, and nothing of the receive itself is touched.
class carried_claim {
public:
    enum class result {
        taken,
        empty, // there is no receive
        look_closer // the owner does not vouch for it: claim_receive() is needed
    };

    carried_claim(owner_token me, segment_layout *where, rq_shared &queue,
                  uint64_t bytes);
    ~carried_claim()
    {
        if (m_locked) {
            unlock_queue(m_where, m_queue);
        }
    }
    carried_claim(const carried_claim &)            = delete;
    carried_claim &operator=(const carried_claim &) = delete;

    result what() const
    {
        return m_result;
    }

    uint32_t index() const
    {
        return m_index;
    }

    // The owner has to be told.
    bool limit_reached() const
    {
        return m_limit_reached;
    }

    // If the queue's lock is that of completion queue `cq`, leaves it to the caller.
    bool hand_over(uint32_t cq)
    {
        m_locked = m_locked && (m_queue.cq != cq);
        return !m_locked;
    }

private:
    segment_layout *m_where;
    rq_shared &m_queue;
    result m_result;
    bool m_locked        = true;
    uint32_t m_index     = 0;
    bool m_limit_reached = false;
};

// 1 + index of a free bounce buffer, 0 when there is none.
uint32_t take_bounce(segment_layout *where, rq_shared &queue);
void give_bounce(segment_layout *where, rq_shared &queue, uint32_t bounce);

inline char *bounce_data(segment_layout *where, const rq_shared &queue, uint32_t bounce)
{
    return at_offset<char>(where,
                           queue.data + uint64_t(bounce - 1) * limits::bounce_bytes);
}

// The receive's memory as addresses of its owner; false when an element fails the checks.
bool receive_memory(segment_layout *where, const rq_shared &queue, receive_slot &slot,
                    memory_list &result);

class receive_queue {
public:
    receive_queue(process &owner, rq_shared &shared) : m_owner(owner), m_shared(shared)
    {
    }

    // For `depth` receives of up to `sges` elements. All of its completions go to completion queue `cq`, or, if
    // that is 0, to several. False when device memory is exhausted.
    bool
    create(uint32_t pd, uint32_t depth, uint32_t sges, uint32_t bounces, uint32_t cq);

    // Nobody may be executing toward this process any more. `reuse` false sets the memory aside.
    void destroy(bool reuse);

    // For another number of receives, of the same kind. 0, EINVAL when more are in use, ENOMEM.
    int resize(uint32_t depth);

    // Posts a chain. 0, or an errno with `bad` at the request that failed: EINVAL too many elements,
    // ENOMEM the queue is full.
    int post(ibv_recv_wr *wr, ibv_recv_wr **bad);

    // Ends a polled receive: copies data that waited to where it belongs if `keep`, and frees what it waited in
    // and the slot. `message`: what the completion's place in its ring carries, if it does. Completes `entry`.
    void finish(completion &entry, const char *message, bool keep = true);

    // Posts again what dead processes claimed but did not complete. Pollers must be held off. `list_delivered`
    // adds the slots whose completion is in a queue.
    using slot_set = std::unordered_set<uint32_t>;
    void reclaim(const std::function<void(slot_set &)> &list_delivered);

    // Claims the oldest receive for flushing.
    bool take(completion &entry);

    // Back to the empty queue; all receives must have been finished or still be posted.
    void reset();

    rq_shared &shared()
    {
        return m_shared;
    }

    uint32_t depth() const
    {
        return m_depth;
    }

private:
    receive_slot *slot(uint32_t index);
    uint32_t usable_bytes(receive_slot &posted);
    void fill(receive_slot &posted, const char *data, uint32_t bytes);
    slot_set lost_slots(const std::function<void(slot_set &)> &list_delivered);
    void free_everything();
    bool add_slots(uint32_t wanted);

    // Slots that are posted, or whose completion was not polled.
    uint32_t used() const
    {
        return m_slots - static_cast<uint32_t>(m_free.size()) - m_freed.size();
    }

    // One that is not in use, preferably one that was a moment ago. There is one.
    uint32_t take_free()
    {
        if (m_freed.size() != 0) {
            return m_freed.take();
        }
        uint32_t index = m_free.back();
        m_free.pop_back();
        return index;
    }

    process &m_owner;
    rq_shared &m_shared;
    uint32_t m_depth = 0; // how many may be in use
    uint32_t m_slots = 0; // how many there are
    uint32_t m_sges  = 0;
    brief_lock m_mutex;
    vouching m_vouching;
    std::vector<uint32_t> m_free; // last in, first out
    freed_slots m_freed; // to be added to it
    brief_lock m_freeing; // pushing there, when several completion queues do
};

} // namespace softrdma
