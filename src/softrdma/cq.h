// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues. The ring lies in the owner's segment; whoever executes an operation, in any
// process, adds the completion under the queue's shared lock. The owner polls without it: an entry is
// complete when its turn says so.
//
// Thread rules: push_completion(): any thread of any process, inside an execution_guard toward the owner
// unless it is this process. completion_queue: any thread of the owner.
#pragma once

#include "brief_lock.h"
#include "process.h"
#include "transfer.h"
#include "withheld.h"

#include <infiniband/verbs.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace softrdma {

struct device_context;
class queue_pair;

// Locks a queue and puts right what a dead holder of the lock left.
void lock_completions(owner_token me, segment_layout *where, cq_shared &cq);

// Adds a completion: who has one writes it in its place in the ring, and it is there when this ends, which also
// wakes the owner if it asked for that. The queue is locked meanwhile. A full queue is an overrun: the owner
// gets IBV_EVENT_CQ_ERR.
class completion_writer {
public:
    completion_writer(process &me, peer &to, uint32_t cq);
    // Of a queue that the caller has locked; unlocks it.
    completion_writer(process &me, peer &to, uint32_t cq, std::adopt_lock_t);
    ~completion_writer();
    completion_writer(const completion_writer &)            = delete;
    completion_writer &operator=(const completion_writer &) = delete;

    // Where to write, all of `data`; null when there is no room or no queue any more.
    cqe *place()
    {
        return m_place;
    }

private:
    peer &m_to;
    cq_shared &m_cq;
    cqe *m_place   = nullptr;
    int m_doorbell = -1; // the owner's, to be rung for an overrun
};

void push_completion(process &me, peer &to, uint32_t cq, const completion &entry);

class completion_queue : public ibv_cq_ex {
public:
    // Null with errno.
    static completion_queue *create(device_context &context, uint32_t cqe,
                                    void *cq_context, ibv_comp_channel *channel);

    static completion_queue *from(ibv_cq *cq)
    {
        return static_cast<completion_queue *>(reinterpret_cast<ibv_cq_ex *>(cq));
    }

    ibv_cq *verbs()
    {
        return reinterpret_cast<ibv_cq *>(static_cast<ibv_cq_ex *>(this));
    }

    // Up to `wanted` completions; the number of them, or -1 after an overrun.
    int poll(int wanted, ibv_wc *wc);

    // The extended interface: what it is asked to do more, and one completion after the other for the
    // readers. 0, ENOENT when there is none, EIO after an overrun. From a start_poll() that returned 0 to
    // end_poll() the readers are this thread's.
    void extend(bool timed, bool single_threaded);
    int start_poll();
    int next_poll();
    void end_poll();

    void arm(bool solicited_only);

    // The application took one of its events out of the channel.
    void event_read();

    int resize(uint32_t cqe);

    void set_yield(uint32_t polls)
    {
        m_yield.store(polls, std::memory_order_relaxed);
    }

    // 0 or EBUSY. Waits for the application to acknowledge its events, then frees the object.
    int destroy();

    // Drops what is queued of that queue pair and gives its receives back.
    void purge(const queue_pair &qp);

    // What is there can be polled, whatever a fault says: a queue pair of it has been put into the error state, and a
    // device has written its completions by the end of that call.
    void release_withheld();

    // For reclaiming what a dead process left: holds pollers off, lists the receives of a queue that have
    // their completion (with the lock of `shared()` held), and wakes the application if it has any, in case
    // that was what died.
    std::unique_lock<brief_lock> hold_pollers()
    {
        return std::unique_lock(m_mutex);
    }
    void list_receives(queue_kind kind, uint32_t queue,
                       std::unordered_set<uint32_t> &slots) const;
    void wake_if_any();

    // Fires the event of completions that were withheld when the application asked for it.
    void announce_withheld();

    // Raises the event of an overrun that a producer reported.
    void check_overrun();

    uint32_t index() const
    {
        return m_index;
    }

    cq_shared &shared()
    {
        return m_shared;
    }

    // Queue pairs that use it, each counted once for sending and once for receiving.
    std::atomic<uint32_t> users{0};

    event_target events;
    completion current; // of the ibv_cq_ex readers

    // Only for create(): make_shared needs it.
    completion_queue(process &owner, uint32_t index) :
        ibv_cq_ex{},
        current{},
        m_owner(owner),
        m_index(index),
        m_shared(owner.seg.base()->cqs[index]),
        m_yield(owner.config.yield)
    {
    }

private:
    // A ring the queue has or had. Pollers look at it without a lock, so its memory stays until the end, or
    // until the queue has that size again.
    struct ring_view {
        softrdma::cqe *entries;
        uint32_t mask;
        uint64_t place; // in the segment
    };

    void use_ring(uint64_t place, uint32_t capacity);
    uint64_t former_ring(uint32_t capacity); // 0: there was none of that size

    // Without the lock; at worst out of date by what another poller takes at the same time.
    bool seems_empty() const
    {
        const ring_view *ring = m_ring.load(std::memory_order_acquire);
        uint32_t head         = m_shared.head.load(std::memory_order_acquire);
        return ring->entries[head & ring->mask].turn.load(std::memory_order_acquire) !=
               head + 1;
    }

    // The producers' lock; what a producer that died with it had done is in the ring.
    void lock_ring();

    bool any_wanted() const;
    template<class F>
    void wake_if(F wanted);

    bool next(completion &entry);
    void finish(completion &entry, const char *message);
    void before_poll()
    {
        if (m_owner.background.any_waiting() || m_owner.attention_wanted() ||
            m_owner.faults.disturbs()) [[unlikely]] {
            attend();
        }
    }
    void attend();
    bool next_withheld();
    uint32_t tail();
    void after_poll(bool any);

    process &m_owner;
    const uint32_t m_index;
    cq_shared &m_shared;
    brief_lock m_mutex; // pollers
    std::atomic<const ring_view *> m_ring{nullptr};
    std::vector<std::unique_ptr<ring_view>> m_rings; // the last one is in use
    std::mutex m_readers; // from start_poll() to end_poll(); taken before all others
    // Empty polls before the processor is given away; 0 never.
    std::atomic<uint32_t> m_yield;
    bool m_single_threaded = false;
    bool m_error_raised    = false;
    withheld_completions m_withheld;
};

// Entry points of the context.
int poll_cq(ibv_cq *cq, int count, ibv_wc *wc);
int req_notify_cq(ibv_cq *cq, int solicited_only);
ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr);

// Sets the readers of ibv_cq_ex (cq_ex.cpp).
void set_cq_readers(ibv_cq_ex &cq);

} // namespace softrdma
