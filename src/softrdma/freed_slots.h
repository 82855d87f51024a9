// SPDX-License-Identifier: BSD-3-Clause
//
// Slots on their way from whoever polls completions back to whoever posts receives, without a lock between
// the two.
//
// Thread rules: push() by one thread at a time, take() and all others by one thread at a time. Beside resize()
// and clear() there is no push().
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace softrdma {

class freed_slots {
public:
    // For up to `slots` of them.
    void resize(uint32_t slots)
    {
        std::vector<uint32_t> waiting;
        drain(waiting);
        m_ring.resize(std::bit_ceil(slots));
        for (uint32_t slot : waiting) {
            push(slot);
        }
    }

    void push(uint32_t slot)
    {
        uint32_t tail                      = m_tail.load(std::memory_order_relaxed);
        m_ring[tail & (m_ring.size() - 1)] = slot;
        m_tail.store(tail + 1, std::memory_order_release);
    }

    // How many there are.
    uint32_t size() const
    {
        return m_tail.load(std::memory_order_acquire) - m_head;
    }

    // The oldest, which is to be there.
    uint32_t take()
    {
        return m_ring[m_head++ & (m_ring.size() - 1)];
    }

    // Moves all to the end of `to`.
    void drain(std::vector<uint32_t> &to)
    {
        uint32_t tail = m_tail.load(std::memory_order_acquire);
        for (; m_head != tail; ++m_head) {
            to.push_back(m_ring[m_head & (m_ring.size() - 1)]);
        }
    }

    void clear()
    {
        m_head = m_tail.load(std::memory_order_acquire);
    }

private:
    std::vector<uint32_t> m_ring;
    std::atomic<uint32_t> m_tail{0};
    uint32_t m_head = 0;
};

} // namespace softrdma
