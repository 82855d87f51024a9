// SPDX-License-Identifier: BSD-3-Clause
//
// The producer's side of a completion queue.
#include "cq.h"

#include "clock.h"
#include "guard.h"
#include "log.h"

namespace softrdma {
namespace {

// Unread events of one queue in its channel. More tell the application nothing new, and so the pipe
// (512 to 8192 events, by its kernel limits) cannot fill up with the events of one queue.
constexpr int32_t unread_events = 4;

cqe *ring_of(segment_layout *where, const cq_shared &cq)
{
    return at_offset<cqe>(where, cq.ring);
}

// A producer that died between publishing an entry and counting it.
void repair(segment_layout *where, cq_shared &cq)
{
    const cqe &entry = ring_of(where, cq)[cq.tail & (cq.capacity - 1)];
    if (entry.turn.load(std::memory_order_acquire) == cq.tail + 1) {
        ++cq.tail;
    }
}

bool has_room(cq_shared &cq)
{
    if (cq.tail - cq.head_seen < cq.capacity) {
        return true;
    }
    cq.head_seen = cq.head.load(std::memory_order_acquire);
    return cq.tail - cq.head_seen < cq.capacity;
}

// Writes an event into the owner's channel. Counted after it was written: a producer that dies in between
// must not leave a count behind that keeps later events from being sent. The count may therefore be
// negative for a moment.
void send_event(peer &to, cq_shared &cq, int fd, uint64_t channel, uint64_t cookie)
{
    if (cq.unread.load(std::memory_order_relaxed) >= unread_events) {
        return;
    }
    if (to.notify(fd, channel, cookie)) {
        cq.unread.fetch_add(1, std::memory_order_relaxed);
    } else {
        SOFTRDMA_LOG_ONCE(warn, "a completion event of process %d could not be delivered",
                          to.pid);
    }
}

bool wants_event(const cq_shared &cq, const completion_head &entry)
{
    switch (cq.armed.load(std::memory_order_relaxed)) {
    case cq_armed_any:
        return true;
    case cq_armed_solicited:
        return (entry.solicited != 0) || (entry.status != IBV_WC_SUCCESS);
    default:
        return false;
    }
}

} // namespace

void lock_completions(owner_token me, segment_layout *where, cq_shared &cq)
{
    if (cq.lock.lock(me) && (cq.valid.load(std::memory_order_relaxed) != 0))
            [[unlikely]] {
        repair(where, cq);
    }
}

completion_writer::completion_writer(process &me, peer &to, uint32_t index) :
    completion_writer(me, to, index,
                      (lock_completions(me.token(), to.segment, to.segment->cqs[index]),
                       std::adopt_lock))
{
}

completion_writer::completion_writer(process &me, peer &to, uint32_t index,
                                     std::adopt_lock_t) :
    m_to(to), m_cq(to.segment->cqs[index])
{
    if (m_cq.valid.load(std::memory_order_relaxed) == 0) [[unlikely]] {
        return;
    }
    if (has_room(m_cq)) [[likely]] {
        m_place = &ring_of(to.segment, m_cq)[m_cq.tail & (m_cq.capacity - 1)];
    } else if (m_cq.overrun.exchange(1, std::memory_order_relaxed) == 0) {
        m_doorbell = me.reg.entry(to.slot).doorbell_fd;
    }
}

completion_writer::~completion_writer()
{
    if (m_place == nullptr) [[unlikely]] {
        m_cq.lock.unlock();
        if (m_doorbell >= 0) {
            m_to.ring_doorbell(m_doorbell);
        }
        return;
    }
    if (m_cq.timed != 0) {
        m_place->rest.time = now_ns();
    }
    m_place->turn.store(m_cq.tail + 1, std::memory_order_release);
    ++m_cq.tail;
    if ((m_cq.armed.load(std::memory_order_relaxed) == cq_not_armed) ||
        !wants_event(m_cq, m_place->head)) [[likely]] {
        m_cq.lock.unlock();
        return;
    }
    m_cq.armed.store(cq_not_armed, std::memory_order_relaxed);
    int fd           = m_cq.notify_fd;
    uint64_t channel = m_cq.channel;
    uint64_t cookie  = m_cq.cookie;
    m_cq.lock.unlock();
    if (fd >= 0) {
        send_event(m_to, m_cq, fd, channel, cookie);
    }
}

void push_completion(process &me, peer &to, uint32_t index, const completion &entry)
{
    completion_writer writer(me, to, index);
    if (writer.place() != nullptr) {
        writer.place()->set(entry);
    }
}

void completion_queue::lock_ring()
{
    lock_completions(m_owner.token(), m_owner.seg.base(), m_shared);
}

void completion_queue::list_receives(queue_kind kind, uint32_t queue,
                                     std::unordered_set<uint32_t> &slots) const
{
    if (m_shared.valid.load(std::memory_order_relaxed) == 0) {
        return; // destroyed meanwhile
    }
    const softrdma::cqe *ring = ring_of(m_owner.seg.base(), m_shared);
    for (uint32_t i = m_shared.head.load(); i != m_shared.tail; ++i) {
        const completion_head &entry = ring[i & (m_shared.capacity - 1)].head;
        if ((entry.kind == kind) && (entry.queue == queue)) {
            slots.insert(entry.slot);
        }
    }
}

// With the lock held.
bool completion_queue::any_wanted() const
{
    const softrdma::cqe *ring = ring_of(m_owner.seg.base(), m_shared);
    for (uint32_t i = m_shared.head.load(); i != m_shared.tail; ++i) {
        if (wants_event(m_shared, ring[i & (m_shared.capacity - 1)].head)) {
            return true;
        }
    }
    return false;
}

// A request tells the device how far the application has polled, so what came after that raises the event at once. The
// specification lets a device wait for the next completion, but programs are written for devices that do not: UCX
// polls, finds nothing, arms and sleeps. What a fault withholds is announced when it is due.
void completion_queue::arm(bool solicited_only)
{
    lock_ring();
    // A request for any completion is not weakened by a later one for solicited ones.
    if (!solicited_only) {
        m_shared.armed.store(cq_armed_any, std::memory_order_relaxed);
    } else if (m_shared.armed.load(std::memory_order_relaxed) == cq_not_armed) {
        m_shared.armed.store(cq_armed_solicited, std::memory_order_relaxed);
    }
    const bool fire = (m_shared.notify_fd >= 0) && !m_owner.faults.disturbs() &&
                      any_wanted();
    if (fire) {
        m_shared.armed.store(cq_not_armed, std::memory_order_relaxed);
    }
    m_shared.lock.unlock();
    if (fire) {
        send_event(m_owner.self(), m_shared, m_shared.notify_fd, m_shared.channel,
                   m_shared.cookie);
    } else {
        m_owner.background.expect_sleep();
    }
}

// Sends an event if there are completions and it is wanted.
template<class F>
void completion_queue::wake_if(F wanted)
{
    // destroy() waits for its end: the channel goes with the queue, and its descriptor to somebody else.
    execution_guard guard(m_owner.reg, m_owner.reg.own_slot());
    lock_ring();
    bool fire = (m_shared.valid.load(std::memory_order_relaxed) != 0) &&
                (m_shared.notify_fd >= 0) && (m_shared.head.load() != m_shared.tail) &&
                wanted();
    m_shared.lock.unlock();
    if (fire) {
        send_event(m_owner.self(), m_shared, m_shared.notify_fd, m_shared.channel,
                   m_shared.cookie);
    }
}

void completion_queue::announce_withheld()
{
    wake_if([&] {
        return m_shared.armed.exchange(cq_not_armed, std::memory_order_relaxed) !=
               cq_not_armed;
    });
}

void completion_queue::wake_if_any()
{
    // It may have died before it took the request for an event, or after: one too many does no harm.
    wake_if([] { return true; });
}

} // namespace softrdma
