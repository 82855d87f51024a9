// SPDX-License-Identifier: BSD-3-Clause
#include "relay_pool.h"

#include "guard.h"
#include "process.h"
#include "qp.h"

#include <algorithm>

namespace softrdma {

relay_shared &relay_pool::entry(uint32_t index) const
{
    return m_owner.seg.base()->relays[index];
}

// Makes one entry more. False when there are enough, or the segment is full.
bool relay_pool::add_locked()
{
    auto index = static_cast<uint32_t>(m_waiting.size());
    if (index == limits::relays) {
        return false;
    }
    uint64_t window = m_owner.seg.allocate(limits::relay_window);
    if (window == 0) {
        return false;
    }
    entry(index).window = window;
    m_waiting.emplace_back();
    m_free.push_back(index);
    m_owner.seg.base()->high_relay.store(index + 1, std::memory_order_release);
    return true;
}

// Takes back what targets have let go of.
void relay_pool::collect_locked()
{
    std::erase_if(m_left, [&](uint32_t index) {
        uint64_t phase = entry(index).state.load(std::memory_order_acquire) &
                         relay_phase_mask;
        bool over = (phase == relay_free) || (phase == relay_done);
        if (over) {
            m_free.push_back(index);
        }
        return over;
    });
}

uint32_t relay_pool::take(std::shared_ptr<queue_pair> waiting)
{
    std::lock_guard lock(m_mutex);
    collect_locked();
    if (m_free.empty() && !add_locked()) {
        return none;
    }
    uint32_t index = m_free.back();
    m_free.pop_back();
    m_waiting[index] = std::move(waiting);
    return index;
}

void relay_pool::give_back(uint32_t index, bool answered)
{
    const relay_shared &request = entry(index);
    bool gone = !answered && !m_owner.reg.alive(request.slot, request.generation);
    std::shared_ptr<queue_pair> last; // may be the last reference: ends after the lock
    std::lock_guard lock(m_mutex);
    last.swap(m_waiting[index]);
    ((answered || gone) ? m_free : m_left).push_back(index);
}

bool relay_pool::call(const relay_shared &request) const
{
    execution_guard guard(m_owner.reg, request.slot);
    peer *to = m_owner.peers.find(request.slot);
    if ((to == nullptr) || (to->generation != request.generation)) {
        return false;
    }
    to->call(m_owner.reg.entry(request.slot).doorbell_fd, m_owner.reg.own_slot());
    return true;
}

void relay_pool::resume()
{
    std::vector<std::shared_ptr<queue_pair>> waiting;
    {
        std::lock_guard lock(m_mutex);
        for (const auto &qp : m_waiting) {
            if (qp != nullptr) {
                waiting.push_back(qp);
            }
        }
    }
    for (const auto &qp : waiting) {
        qp->resume();
    }
}

void relay_pool::forget(uint32_t slot, uint64_t generation)
{
    std::lock_guard lock(m_mutex);
    std::erase_if(m_left, [&](uint32_t index) {
        const relay_shared &request = entry(index);
        bool its = (request.slot == slot) && (request.generation == generation);
        if (its) {
            m_free.push_back(index);
        }
        return its;
    });
}

} // namespace softrdma
