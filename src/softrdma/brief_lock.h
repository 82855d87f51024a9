// SPDX-License-Identifier: BSD-3-Clause
//
// A lock between threads of one process for sections that any thread rarely contends for, nearly all of them of some
// dozen instructions: one exchange to take it, one plain store to give it back. Who has to wait gives the processor
// away, and sleeps when that takes long.
//
// Thread rules: any thread; not recursive. Lockable as std::lock_guard wants it.
#pragma once

#include <atomic>
#include <sched.h>
#include <time.h>

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
    // Some hundred microseconds: whatever is brief is over by then.
    static constexpr unsigned short_looks = 256;

    void wait() const
    {
        for (unsigned looks = 0; m_taken.load(std::memory_order_relaxed); ++looks) {
            if (looks < short_looks) {
                sched_yield();
                continue;
            }
            const timespec pause{0, 50'000};
            nanosleep(&pause, nullptr);
        }
    }

    std::atomic<bool> m_taken{false};
};

} // namespace softrdma
