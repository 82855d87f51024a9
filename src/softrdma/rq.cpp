// SPDX-License-Identifier: BSD-3-Clause
#include "rq.h"

#include "keys.h"
#include "log.h"
#include "process.h"
#include "rq_slots.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <unordered_map>

namespace softrdma {
namespace {

constexpr uint32_t fifo_line = 64 / sizeof(uint32_t);

// Places of the FIFO of so many receives: a line more at least, so that in a queue that is kept full the place to be
// posted next is not in the line of the one to be claimed next, which would cost both sides that line every time.
uint32_t fifo_places(uint32_t depth)
{
    return std::bit_ceil(depth + fifo_line);
}

uint64_t chunk_bytes(const rq_shared &queue, uint32_t chunk)
{
    uint32_t level = queue.first_chunk + ((chunk != 0) ? chunk - 1 : 0);
    return (uint64_t{1} << level) * queue.slot_bytes;
}

} // namespace

receive_slot *receive_queue::slot(uint32_t index)
{
    return slot_at(m_owner.seg.base(), m_shared, index);
}

bool receive_queue::create(uint32_t pd, uint32_t depth, uint32_t sges, uint32_t bounces,
                           uint32_t cq)
{
    segment &seg        = m_owner.seg;
    m_depth             = depth;
    m_sges              = sges;
    m_shared.cq         = cq;
    m_shared.pd         = pd;
    m_shared.capacity   = fifo_places(depth);
    m_shared.slot_bytes = static_cast<uint32_t>(sizeof(receive_slot) +
                                                sges * sizeof(shared_sge));
    m_shared.bounces    = std::min(depth, bounces);
    m_shared.limit.store(0);
    m_shared.limit_reached.store(0);
    m_shared.head.store(0);
    m_shared.tail.store(0);
    m_shared.tail_seen = 0;
    m_vouching.start(m_shared, seg.base()->memory_epoch.load(std::memory_order_acquire));
    m_shared.fifo = seg.allocate(uint64_t(m_shared.capacity) * sizeof(uint32_t));
    m_shared.next = seg.allocate(uint64_t(m_shared.bounces) * sizeof(uint32_t));
    m_shared.data = seg.allocate(uint64_t(m_shared.bounces) * limits::bounce_bytes);
    m_shared.first_chunk = static_cast<uint32_t>(
            std::bit_width(std::bit_ceil(std::max(depth, 1u))) - 1);
    std::fill(std::begin(m_shared.slots), std::end(m_shared.slots), 0);
    m_slots = 0;
    if ((m_shared.fifo == 0) || (m_shared.next == 0) || (m_shared.data == 0) ||
        !add_slots(depth)) {
        destroy(true);
        return false;
    }

    seg.warm(m_shared.data, uint64_t(std::min(m_shared.bounces, limits::warm_bounces)) *
                                    limits::bounce_bytes);
    free_everything();
    return true;
}

void receive_queue::free_everything()
{
    m_shared.free_bounce.store(0, std::memory_order_relaxed);
    for (uint32_t bounce = m_shared.bounces; bounce != 0; --bounce) {
        give_bounce(m_owner.seg.base(), m_shared, bounce);
    }
    m_free.clear();
    m_freed.clear();
    for (uint32_t i = m_slots; i != 0; --i) {
        slot(i - 1)->claimer.store(0, std::memory_order_relaxed);
        m_free.push_back(i - 1);
    }
}

bool receive_queue::add_slots(uint32_t wanted)
{
    {
        std::lock_guard lock(m_freeing);
        m_freed.resize(std::max(wanted, 1u));
    }
    for (; m_slots < wanted; ++m_slots) {
        uint32_t place  = m_slots;
        uint64_t &chunk = m_shared.slots[chunk_of(m_shared, place)];
        if ((place == 0) && (chunk == 0)) {
            chunk = m_owner.seg.allocate(
                    chunk_bytes(m_shared,
                                static_cast<uint32_t>(&chunk - m_shared.slots)));
            if (chunk == 0) {
                return false;
            }
        }
        slot(m_slots)->claimer.store(0, std::memory_order_relaxed);
        m_free.push_back(m_slots);
    }
    return true;
}

int receive_queue::resize(uint32_t depth)
{
    std::lock_guard lock(m_mutex);
    if (used() > depth) {
        return EINVAL;
    }
    segment &seg      = m_owner.seg;
    uint32_t capacity = std::max(fifo_places(depth), m_shared.capacity);
    uint32_t previous = m_shared.capacity;
    uint64_t retired  = 0;
    if (capacity != previous) {
        uint64_t fifo = seg.allocate(uint64_t(capacity) * sizeof(uint32_t));
        if (fifo == 0) {
            return ENOMEM;
        }
        // Claimers read the FIFO and its size under the lock only.
        retired      = m_shared.fifo;
        uint32_t *to = at_offset<uint32_t>(seg.base(), fifo);
        m_shared.lock.lock(m_owner.token());
        uint32_t *from = fifo_of(seg.base(), m_shared);
        for (uint32_t i = m_shared.head.load(); i != m_shared.tail.load(); ++i) {
            to[i & (capacity - 1)] = from[i & (previous - 1)];
        }
        m_shared.fifo     = fifo;
        m_shared.capacity = capacity;
        m_shared.lock.unlock();
    }
    seg.free(retired, uint64_t(previous) * sizeof(uint32_t));
    if (!add_slots(depth)) {
        return ENOMEM;
    }
    m_depth = depth;
    return 0;
}

void receive_queue::destroy(bool reuse)
{
    std::lock_guard lock(m_mutex);
    if (reuse) {
        segment &seg = m_owner.seg;
        seg.free(m_shared.fifo, uint64_t(m_shared.capacity) * sizeof(uint32_t));
        for (uint32_t chunk = 0; chunk < limits::slot_chunks; ++chunk) {
            seg.free(m_shared.slots[chunk], chunk_bytes(m_shared, chunk));
        }
        seg.free(m_shared.next, uint64_t(m_shared.bounces) * sizeof(uint32_t));
        seg.free(m_shared.data, uint64_t(m_shared.bounces) * limits::bounce_bytes);
    }
    m_shared.fifo = m_shared.next = m_shared.data = 0;
    std::fill(std::begin(m_shared.slots), std::end(m_shared.slots), 0);
}

// How many bytes of it are memory that may be written now.
uint32_t receive_queue::usable_bytes(receive_slot &posted)
{
    for (uint32_t i = 0; i < posted.num_sge; ++i) {
        const shared_sge &sge = posted.sge()[i];
        if ((sge.length != 0) &&
            (find_local_memory(m_owner.seg.base(), sge.lkey, m_shared.pd,
                               IBV_ACCESS_LOCAL_WRITE, sge.addr, sge.length) == 0)) {
            return 0;
        }
    }
    return posted.total;
}

int receive_queue::post(ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    std::lock_guard lock(m_mutex);
    segment_layout *base = m_owner.seg.base();
    uint32_t *fifo       = fifo_of(base, m_shared);
    uint32_t tail        = m_shared.tail.load(std::memory_order_relaxed);
    int failure          = 0;
    for (; wr != nullptr; wr = wr->next) {
        if ((wr->num_sge < 0) || (static_cast<uint32_t>(wr->num_sge) > m_sges)) {
            failure = EINVAL;
            break;
        }
        if (used() >= m_depth) {
            failure = ENOMEM;
            break;
        }
        uint32_t index     = take_free();
        receive_slot &next = *slot(index);
        next.wr_id         = wr->wr_id;
        next.num_sge       = static_cast<uint32_t>(wr->num_sge);
        uint64_t total     = 0;
        for (int i = 0; i < wr->num_sge; ++i) {
            const ibv_sge &sge = wr->sg_list[i];
            next.sge()[i]      = {sge.addr, sge.length, sge.lkey};
            total += sge.length;
        }
        next.total     = static_cast<uint32_t>(std::min<uint64_t>(total, UINT32_MAX));
        uint32_t epoch = base->memory_epoch.load(std::memory_order_acquire);
        m_vouching.add(m_shared, tail, usable_bytes(next), epoch);
        fifo[tail++ & (m_shared.capacity - 1)] = index;
        m_shared.tail.store(tail, std::memory_order_release);
    }
    if (failure != 0) {
        *bad = wr;
    }
    return failure;
}

// A region that was deregistered meanwhile is not written to: its memory may be gone.
void receive_queue::fill(receive_slot &posted, const char *data, uint32_t bytes)
{
    segment_layout *base = m_owner.seg.base();
    if (posted.num_sge == 1) [[likely]] {
        const shared_sge &sge = posted.sge()[0];
        uint64_t addr         = find_local_memory(base, sge.lkey, m_shared.pd,
                                                  IBV_ACCESS_LOCAL_WRITE, sge.addr, sge.length);
        if (addr != 0) {
            copy_bytes(reinterpret_cast<char *>(addr), data, std::min(sge.length, bytes));
        }
        return;
    }
    memory_list to;
    if (receive_memory(base, m_shared, posted, to)) {
        scatter(data, to, bytes);
    }
}

void receive_queue::finish(completion &entry, const char *message, bool keep)
{
    segment_layout *base = m_owner.seg.base();
    receive_slot &done   = *slot(entry.slot);
    if (entry.bounce != 0) {
        bool here        = entry.bounce == carried;
        const char *data = here ? message : bounce_data(base, m_shared, entry.bounce);
        if (keep && (entry.byte_len != 0)) {
            fill(done, data, entry.byte_len);
        }
        if (here) {
            entry.wr_id = done.wr_id;
        } else {
            give_bounce(base, m_shared, entry.bounce);
        }
    }
    if (entry.bounce != carried) {
        done.claimer.store(0, std::memory_order_relaxed);
    }
    if (m_shared.cq != 0) {
        m_freed.push(entry.slot);
    } else {
        std::lock_guard lock(m_freeing);
        m_freed.push(entry.slot);
    }
}

// Under both locks: slots that are nowhere, or in the hands of a dead process.
receive_queue::slot_set
receive_queue::lost_slots(const std::function<void(slot_set &)> &list_delivered)
{
    uint32_t *fifo = fifo_of(m_owner.seg.base(), m_shared);
    uint32_t mask  = m_shared.capacity - 1;
    std::unordered_map<owner_token, bool> known{{0, false}};
    auto alive = [&](owner_token claimer) {
        auto found = known.find(claimer);
        if (found == known.end()) {
            found = known.emplace(claimer, m_owner.reg.alive(claimer)).first;
        }
        return found->second;
    };
    m_freed.drain(m_free);
    std::vector<bool> accounted(m_slots);
    for (uint32_t index : m_free) {
        accounted[index] = true;
    }
    // One that died just before it took the slot has marked it only.
    uint32_t tail = m_shared.tail.load(std::memory_order_relaxed);
    for (uint32_t i = m_shared.head.load(std::memory_order_relaxed); i != tail; ++i) {
        accounted[fifo[i & mask]] = true;
    }
    slot_set lost;
    for (uint32_t index = 0; index < m_slots; ++index) {
        if (!accounted[index] &&
            !alive(slot(index)->claimer.load(std::memory_order_relaxed))) {
            lost.insert(index);
        }
    }
    if (!lost.empty()) {
        slot_set delivered;
        list_delivered(delivered);
        for (uint32_t index : delivered) {
            lost.erase(index);
        }
    }
    return lost;
}

void receive_queue::reclaim(const std::function<void(slot_set &)> &list_delivered)
{
    std::lock_guard lock(m_mutex);
    if (m_shared.fifo == 0) {
        return; // destroyed meanwhile
    }
    segment_layout *base = m_owner.seg.base();
    uint32_t *fifo       = fifo_of(base, m_shared);
    lock_queue(m_owner.token(), base, m_shared);
    uint32_t tail = m_shared.tail.load(std::memory_order_relaxed);
    for (uint32_t index : lost_slots(list_delivered)) {
        receive_slot &lost = *slot(index);
        if (lost.claimer.load(std::memory_order_relaxed) != 0) {
            if (lost.bounce != 0) {
                give_bounce(base, m_shared, lost.bounce);
            }
            lost.claimer.store(0, std::memory_order_relaxed);
        }
        uint32_t epoch = base->memory_epoch.load(std::memory_order_acquire);
        m_vouching.add(m_shared, tail, usable_bytes(lost), epoch);
        fifo[tail++ & (m_shared.capacity - 1)] = index;
        m_shared.tail.store(tail, std::memory_order_release);
        SOFTRDMA_LOG(debug, "receive %u is posted again: its sender died", index);
    }
    unlock_queue(base, m_shared);
}

bool receive_queue::take(completion &entry)
{
    claimed_receive claimed;
    if (!claim_receive(m_owner.token(), m_owner.seg.base(), m_shared, claimed)) {
        return false;
    }
    entry.wr_id = claimed.slot->wr_id;
    entry.slot  = claimed.index;
    return true;
}

void receive_queue::reset()
{
    std::lock_guard lock(m_mutex);
    segment_layout *base = m_owner.seg.base();
    lock_queue(m_owner.token(), base, m_shared);
    m_shared.head.store(0, std::memory_order_relaxed);
    m_shared.tail.store(0, std::memory_order_relaxed);
    m_shared.tail_seen = 0;
    m_vouching.start(m_shared, base->memory_epoch.load());
    unlock_queue(base, m_shared);
    free_everything();
}

} // namespace softrdma
