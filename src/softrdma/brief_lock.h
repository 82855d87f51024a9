// SPDX-License-Identifier: BSD-3-Clause
//
// A lock between threads of one process for sections of some dozen instructions that any thread rarely
// contends for: one exchange to take it, one plain store to give it back. Who has to wait gives the
// processor away.
//
// Thread rules: any thread; not recursive. Lockable as std::lock_guard wants it.
#pragma once

#include <atomic>
#include <sched.h>

namespace softrdma {

class brief_lock {
public:
    void lock()
    {
        while (m_taken.exchange(true, std::memory_order_acquire))
            [[unlikely]]
            {
                wait();
            }
    }

    bool try_lock()
    {
        return !m_taken.exchange(true, std::memory_order_acquire);
    }

    void unlock()
    {
        m_taken.store(false, std::memory_order_release);
    }

private:
    void wait() const
    {
        while (m_taken.load(std::memory_order_relaxed)) {
            sched_yield();
        }
    }

    std::atomic<bool> m_taken{false};
};

} // namespace softrdma
