// SPDX-License-Identifier: BSD-3-Clause
//
// The side of a receive queue that initiators see, in whichever process they run.
#include "rq.h"

#include "cq.h"
#include "keys.h"
#include "mr.h"
#include "rq_slots.h"

namespace softrdma {
namespace {

// Under the lock: whether there is a receive.
bool any_posted(rq_shared &queue, uint32_t head)
{
    if (head != queue.tail_seen) {
        return true;
    }
    queue.tail_seen = queue.tail.load(std::memory_order_acquire);
    return head != queue.tail_seen;
}

// Under the lock: takes the oldest receive, at position `head`, out of the queue. True when that reached the
// limit, which the owner lifts when it has been told.
bool advance(rq_shared &queue, uint32_t head)
{
    queue.head.store(head + 1, std::memory_order_release);
    uint32_t limit = queue.limit.load(std::memory_order_relaxed);
    if (limit == 0) [[likely]] {
        return false;
    }
    queue.tail_seen = queue.tail.load(std::memory_order_acquire);
    if (queue.tail_seen - head - 1 >= limit) {
        return false;
    }
    return queue.limit_reached.exchange(1, std::memory_order_release) == 0;
}

} // namespace

void lock_queue(owner_token me, segment_layout *where, rq_shared &queue)
{
    if (queue.cq != 0) {
        lock_completions(me, where, where->cqs[queue.cq]);
    } else {
        queue.lock.lock(me);
    }
}

void unlock_queue(segment_layout *where, rq_shared &queue)
{
    shared_lock &lock = (queue.cq != 0) ? where->cqs[queue.cq].lock : queue.lock;
    lock.unlock();
}

bool claim_receive(owner_token me, segment_layout *where, rq_shared &queue,
                   claimed_receive &result)
{
    // Cheap when there is nothing; the lock decides otherwise.
    if (queue.head.load(std::memory_order_relaxed) ==
        queue.tail.load(std::memory_order_acquire)) {
        return false;
    }

    lock_queue(me, where, queue);
    uint32_t head = queue.head.load(std::memory_order_relaxed);
    if (!any_posted(queue, head)) {
        unlock_queue(where, queue);
        return false;
    }
    result.index = fifo_of(where, queue)[head & (queue.capacity - 1)];
    result.slot  = slot_at(where, queue, result.index);
    // Marked before it leaves the queue: a claimer that dies in between has not taken it.
    result.slot->bounce = 0;
    result.slot->claimer.store(me, std::memory_order_relaxed);
    result.limit_reached = advance(queue, head);
    unlock_queue(where, queue);
    return true;
}

void return_receive(owner_token me, segment_layout *where, rq_shared &queue,
                    uint32_t index)
{
    lock_queue(me, where, queue);
    // What is vouched for now was found out without it.
    where->memory_epoch.fetch_add(1, std::memory_order_release);
    // The place before the oldest is free: posted and claimed receives are never more than there are places.
    uint32_t head = queue.head.load(std::memory_order_relaxed) - 1;
    fifo_of(where, queue)[head & (queue.capacity - 1)] = index;
    queue.head.store(head, std::memory_order_release);
    slot_at(where, queue, index)->claimer.store(0, std::memory_order_relaxed);
    unlock_queue(where, queue);
}

carried_claim::carried_claim(owner_token me, segment_layout *where, rq_shared &queue,
                             uint64_t bytes) :
    m_where(where), m_queue(queue)
{
    lock_queue(me, where, queue);
    uint32_t head = queue.head.load(std::memory_order_relaxed);
    if (!any_posted(queue, head)) {
        m_result = result::empty;
        return;
    }
    // Only now: what is vouched for is what was posted before.
    uint32_t epoch = queue.vouched.epoch.load(std::memory_order_acquire);
    if ((epoch != where->memory_epoch.load(std::memory_order_relaxed)) ||
        (bytes > queue.vouched.bytes.load(std::memory_order_relaxed))) {
        m_result = result::look_closer;
        return;
    }
    m_result        = result::taken;
    m_index         = fifo_of(where, queue)[head & (queue.capacity - 1)];
    m_limit_reached = advance(queue, head);
}

uint32_t take_bounce(segment_layout *where, rq_shared &queue)
{
    uint64_t top = queue.free_bounce.load(std::memory_order_acquire);
    for (;;) {
        uint32_t bounce = static_cast<uint32_t>(top);
        if (bounce == 0) {
            return 0;
        }
        // May be outdated by the time it is used: then the tag has changed and the exchange fails.
        uint32_t next = std::atomic_ref(
                                at_offset<uint32_t>(where, queue.next)[bounce - 1])
                                .load(std::memory_order_relaxed);
        uint64_t rest = (((top >> 32) + 1) << 32) | next;
        if (queue.free_bounce.compare_exchange_weak(top, rest,
                                                    std::memory_order_acquire)) {
            return bounce;
        }
    }
}

void give_bounce(segment_layout *where, rq_shared &queue, uint32_t bounce)
{
    uint64_t top = queue.free_bounce.load(std::memory_order_relaxed);
    uint64_t rest;
    do {
        std::atomic_ref(at_offset<uint32_t>(where, queue.next)[bounce - 1])
                .store(static_cast<uint32_t>(top), std::memory_order_relaxed);
        rest = (((top >> 32) + 1) << 32) | bounce;
    } while (!queue.free_bounce.compare_exchange_weak(top, rest,
                                                      std::memory_order_release));
}

bool receive_memory(segment_layout *where, const rq_shared &queue, receive_slot &slot,
                    memory_list &result)
{
    for (uint32_t i = 0; i < slot.num_sge; ++i) {
        const shared_sge &sge = slot.sge()[i];
        if (sge.length == 0) {
            continue;
        }
        uint64_t addr = find_local_memory(where, sge.lkey, queue.pd,
                                          IBV_ACCESS_LOCAL_WRITE, sge.addr, sge.length);
        if (addr == 0) {
            return false;
        }
        result.add(addr, sge.length);
    }
    return true;
}

} // namespace softrdma
