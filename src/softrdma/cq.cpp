// SPDX-License-Identifier: BSD-3-Clause
#include "cq.h"

#include "channel.h"
#include "clock.h"
#include "context.h"
#include "guard.h"
#include "idle.h"
#include "log.h"
#include "qp.h"
#include "srq.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace softrdma {
namespace {

constexpr uint32_t warm_entries = 1024;

// The queue pair or SRQ a receive belongs to; both outlive their completions.
receive_queue *queue_of(process &owner, const completion &entry)
{
    if (entry.kind == queue_kind::shared_receive) {
        shared_receive_queue *srq = owner.srqs.at(entry.queue);
        return (srq == nullptr) ? nullptr : &srq->receives();
    }
    queue_pair *qp = owner.qps.at(entry.queue);
    return (qp == nullptr) ? nullptr : &qp->receives();
}

uint64_t new_ring(process &owner, uint32_t capacity)
{
    uint64_t bytes = uint64_t(capacity) * sizeof(cqe);
    uint64_t ring  = owner.seg.allocate(bytes);
    if (ring != 0) {
        owner.seg.warm(ring, std::min(capacity, warm_entries) * sizeof(cqe));
        // Left over turns of another ring would be taken for completions.
        memset(at_offset<char>(owner.seg.base(), ring), 0, bytes);
    }
    return ring;
}

void to_wc(const completion &entry, ibv_wc &wc)
{
    wc          = {};
    wc.wr_id    = entry.wr_id;
    wc.status   = static_cast<ibv_wc_status>(entry.status);
    wc.opcode   = static_cast<ibv_wc_opcode>(entry.opcode);
    wc.byte_len = entry.byte_len;
    wc.imm_data = entry.imm_data;
    wc.qp_num   = entry.qp_num;
    wc.src_qp   = entry.src_qp;
    wc.wc_flags = entry.wc_flags;
    wc.slid     = entry.slid;
}

} // namespace

completion_queue *completion_queue::create(device_context &context, uint32_t cqe,
                                           void *cq_context, ibv_comp_channel *channel)
{
    process &owner = *context.owner;
    if ((cqe == 0) || (cqe > limits::cqes)) {
        errno = EINVAL;
        return nullptr;
    }
    uint32_t capacity = std::bit_ceil(cqe);
    uint32_t index    = owner.cqs.reserve();
    uint64_t ring     = (index != 0) ? new_ring(owner, capacity) : 0;
    if (ring == 0) {
        if (index != 0) {
            owner.cqs.erase(index);
        }
        errno = ENOMEM;
        return nullptr;
    }

    auto created        = std::make_shared<completion_queue>(owner, index);
    created->context    = &context.verbs.context;
    created->channel    = channel;
    created->cq_context = cq_context;
    created->handle     = index;
    created->cqe        = static_cast<int>(capacity);
    pthread_mutex_init(&created->mutex, nullptr);
    pthread_cond_init(&created->cond, nullptr);
    set_cq_readers(*created);
    owner.events.add(created->events, created->verbs());

    cq_shared &shared = created->m_shared;
    shared.head.store(0);
    shared.tail      = 0;
    shared.head_seen = 0;
    shared.capacity  = capacity;
    shared.timed     = 0;
    shared.ring      = ring;
    shared.armed.store(cq_not_armed);
    shared.overrun.store(0);
    shared.unread.store(0);
    shared.cookie    = created->events.id;
    shared.notify_fd = -1;
    if (channel != nullptr) {
        shared.notify_fd = completion_channel::from(channel)->write_fd;
        shared.channel   = completion_channel::from(channel)->id;
        pthread_mutex_lock(&context.verbs.context.mutex);
        ++channel->refcnt;
        pthread_mutex_unlock(&context.verbs.context.mutex);
    }
    created->use_ring(ring, capacity);
    shared.valid.store(1, std::memory_order_release);

    completion_queue *result = created.get();
    owner.cqs.publish(index, std::move(created));
    return result;
}

uint64_t completion_queue::former_ring(uint32_t capacity)
{
    for (size_t i = 0; i + 1 < m_rings.size(); ++i) {
        const ring_view &ring = *m_rings[i];
        if (ring.mask == capacity - 1) {
            for (uint32_t entry = 0; entry < capacity; ++entry) {
                ring.entries[entry].turn.store(0, std::memory_order_relaxed);
            }
            return ring.place;
        }
    }
    return 0;
}

void completion_queue::use_ring(uint64_t place, uint32_t capacity)
{
    auto known = std::find_if(m_rings.begin(), m_rings.end(),
                              [&](const auto &ring) { return ring->place == place; });
    if (known != m_rings.end()) {
        std::rotate(known, known + 1, m_rings.end());
    } else {
        m_rings.push_back(std::make_unique<ring_view>(
                ring_view{at_offset<softrdma::cqe>(m_owner.seg.base(), place),
                          capacity - 1, place}));
    }
    m_ring.store(m_rings.back().get(), std::memory_order_release);
}

// Whether a fault keeps the oldest completion from being polled.
bool completion_queue::next_withheld()
{
    uint64_t delay = m_owner.faults.completion_delay(
            device_context::from(context)->device);
    if (delay == 0) {
        return false;
    }
    uint32_t head = m_shared.head.load(std::memory_order_relaxed);
    uint64_t now  = now_ns();
    m_withheld.note(head, tail(), now + delay);
    uint64_t due = m_withheld.due(head);
    if (due <= now) {
        return false;
    }
    m_owner.faults.announce_completions_at(due);
    return true;
}

uint32_t completion_queue::tail()
{
    lock_ring();
    uint32_t tail = m_shared.tail;
    m_shared.lock.unlock();
    return tail;
}

void completion_queue::release_withheld()
{
    std::lock_guard poll_lock(m_mutex);
    m_withheld.release(tail());
}

bool completion_queue::next(completion &entry)
{
    if (m_owner.faults.disturbs() && next_withheld()) [[unlikely]] {
        return false;
    }
    const ring_view &ring = *m_rings.back();
    for (;;) {
        uint32_t head         = m_shared.head.load(std::memory_order_relaxed);
        softrdma::cqe &oldest = ring.entries[head & ring.mask];
        if (oldest.turn.load(std::memory_order_acquire) != head + 1) {
            return false;
        }
        oldest.get(entry);
        finish(entry, oldest.message);
        m_shared.head.store(head + 1, std::memory_order_release);
        if (entry.kind != queue_kind::none) {
            return true;
        }
    }
}

// What the end of a request means to its queue.
void completion_queue::finish(completion &entry, const char *message)
{
    if (entry.kind == queue_kind::send) {
        queue_pair *qp = m_owner.qps.at(entry.queue);
        if (qp != nullptr) {
            qp->retire(entry.slot);
        }
    } else if (entry.kind != queue_kind::none) {
        receive_queue *queue = queue_of(m_owner, entry);
        if (queue != nullptr) {
            queue->finish(entry, message);
        }
    }
}

void completion_queue::after_poll(bool any)
{
    if (any) {
        polled_something();
    } else {
        polled_nothing(m_yield.load(std::memory_order_relaxed));
    }
}

// What a polling thread does for the device.
void completion_queue::attend()
{
    if (m_owner.background.any_waiting()) {
        m_owner.background.retry_due();
    }
    if (m_owner.attention_wanted()) {
        m_owner.handle_attention();
    }
    if (m_owner.faults.disturbs()) {
        m_owner.faults.wait_out_stall();
    }
}

int completion_queue::poll(int wanted, ibv_wc *wc)
{
    before_poll();
    int found = 0;
    if (!seems_empty()) {
        std::lock_guard lock(m_mutex);
        completion entry;
        while ((found < wanted) && next(entry)) {
            to_wc(entry, wc[found++]);
        }
    }
    if ((found == 0) && (m_shared.overrun.load(std::memory_order_relaxed) != 0)) {
        return -1;
    }
    after_poll(found != 0);
    return found;
}

void completion_queue::extend(bool timed, bool single_threaded)
{
    m_shared.timed    = timed;
    m_single_threaded = single_threaded;
}

int completion_queue::start_poll()
{
    before_poll();
    if (!m_single_threaded) {
        m_readers.lock();
    }
    int result = next_poll();
    if (result != 0) {
        end_poll();
    }
    after_poll(result == 0);
    return result;
}

int completion_queue::next_poll()
{
    std::lock_guard lock(m_mutex);
    if (next(current)) {
        status = static_cast<ibv_wc_status>(current.status);
        wr_id  = current.wr_id;
        return 0;
    }
    return (m_shared.overrun.load(std::memory_order_relaxed) != 0) ? EIO : ENOENT;
}

void completion_queue::end_poll()
{
    if (!m_single_threaded) {
        m_readers.unlock();
    }
}

int completion_queue::resize(uint32_t wanted)
{
    if ((wanted == 0) || (wanted > limits::cqes)) {
        return EINVAL;
    }
    std::lock_guard poll_lock(m_mutex);
    uint32_t capacity = std::bit_ceil(wanted);
    if (capacity == m_shared.capacity) {
        return 0;
    }
    uint64_t former = former_ring(capacity);
    uint64_t ring   = (former != 0) ? former : new_ring(m_owner, capacity);
    if (ring == 0) {
        return ENOMEM;
    }

    lock_ring();
    uint32_t head     = m_shared.head.load(std::memory_order_relaxed);
    uint64_t previous = m_shared.ring;
    uint32_t old_size = m_shared.capacity;
    bool fits         = m_shared.tail - head <= capacity;
    if (fits) {
        auto *from = at_offset<softrdma::cqe>(m_owner.seg.base(), previous);
        auto *to   = at_offset<softrdma::cqe>(m_owner.seg.base(), ring);
        for (uint32_t i = head; i != m_shared.tail; ++i) {
            softrdma::cqe &entry     = to[i & (capacity - 1)];
            const softrdma::cqe &old = from[i & (old_size - 1)];
            entry.head               = old.head;
            memcpy(entry.message, old.message, sizeof(entry.message));
            entry.turn.store(i + 1, std::memory_order_relaxed);
        }
        m_shared.ring      = ring;
        m_shared.capacity  = capacity;
        m_shared.head_seen = head;
        cqe                = static_cast<int>(capacity);
        use_ring(ring, capacity);
    }
    m_shared.lock.unlock();

    if (!fits && (former == 0)) {
        m_owner.seg.free(ring, uint64_t(capacity) * sizeof(softrdma::cqe));
    }
    return fits ? 0 : EINVAL;
}

void completion_queue::purge(const queue_pair &qp)
{
    std::lock_guard poll_lock(m_mutex);
    lock_ring();
    auto *ring = at_offset<softrdma::cqe>(m_owner.seg.base(), m_shared.ring);
    for (uint32_t i = m_shared.head.load(); i != m_shared.tail; ++i) {
        softrdma::cqe &place  = ring[i & (m_shared.capacity - 1)];
        completion_head &head = place.head;
        if (head.qp_num != qp.qp_base.qp_num) {
            continue;
        }
        if ((head.kind == queue_kind::receive) ||
            (head.kind == queue_kind::shared_receive)) {
            completion entry;
            place.get(entry);
            receive_queue *queue = queue_of(m_owner, entry);
            if (queue != nullptr) {
                queue->finish(entry, place.message, false);
            }
        }
        head.kind = queue_kind::none;
    }
    m_shared.lock.unlock();
}

void completion_queue::check_overrun()
{
    if (m_shared.overrun.load(std::memory_order_relaxed) == 0) {
        return;
    }
    bool first;
    {
        std::lock_guard lock(m_mutex);
        first          = !m_error_raised;
        m_error_raised = true;
    }
    if (first) {
        SOFTRDMA_LOG(warn, "completion queue of %d entries overran", cqe);
        device_context::from(context)->raise(IBV_EVENT_CQ_ERR, &events);
        for (const auto &qp : m_owner.qps.snapshot()) {
            if (qp->completes_in(verbs())) {
                qp->fail();
            }
        }
    }
}

void completion_queue::event_read()
{
    m_shared.unread.fetch_sub(1, std::memory_order_relaxed);
}

int completion_queue::destroy()
{
    if (users.load() != 0) {
        return EBUSY;
    }
    m_owner.events.remove(events);
    wait_acknowledged(mutex, cond, comp_events_completed, events.comp_fetched);
    wait_acknowledged(mutex, cond, async_events_completed, events.async_fetched);

    lock_ring();
    m_shared.valid.store(0, std::memory_order_seq_cst);
    m_shared.lock.unlock();
    if (quiesce(m_owner.reg, m_owner.reg.own_slot())) {
        for (const auto &ring : m_rings) {
            m_owner.seg.free(ring->place,
                             (uint64_t(ring->mask) + 1) * sizeof(softrdma::cqe));
        }
    }
    if (channel != nullptr) {
        device_context &owner_context = *device_context::from(context);
        pthread_mutex_lock(&owner_context.verbs.context.mutex);
        --channel->refcnt;
        pthread_mutex_unlock(&owner_context.verbs.context.mutex);
    }
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&cond);
    m_owner.cqs.erase(
            m_index); // frees this object, unless the service thread looks at it
    return 0;
}

int poll_cq(ibv_cq *cq, int count, ibv_wc *wc)
{
    return completion_queue::from(cq)->poll(count, wc);
}

int req_notify_cq(ibv_cq *cq, int solicited_only)
{
    completion_queue::from(cq)->arm(solicited_only != 0);
    return 0;
}

} // namespace softrdma
