// SPDX-License-Identifier: BSD-3-Clause
//
// A lock between threads of one process for sections that any thread rarely contends for, nearly all of them of some
// dozen instructions. Who has to wait gives the processor away, and sleeps when that takes long.
//
// Most locks of a device are taken by one thread only, the one that polls. So a thread that has taken a lock some times
// in a row is favoured: from then on it takes and gives it back by plain stores. The first other thread that comes
// ends this for good: it forbids it, has every processor that runs the process pass a memory barrier (membarrier(2)),
// and waits until the favoured one is out. From then on the lock costs one exchange. Where the system has no such call
// (or a sanitizer could not follow), nobody is favoured.
//
// Why it excludes: the favoured thread F stores m_inside and then reads m_favoured; the other one, O, holds m_taken, stores
// m_favoured, has all pass a barrier, and then reads m_inside. If F's read came before F's barrier, O sees F inside and waits; if
// it came after, F sees that it is not favoured any more, leaves, and goes the way of all. (The asymmetric Dekker protocol of
// biased locks: Dice, Huang, Yang, "Asymmetric Dekker Synchronization", 2001.)
//
// Thread rules: any thread; not recursive. Lockable as std::lock_guard wants it.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrdma {

// Its address is the thread's mark. Initial-exec: a call of the loader for each lock is too much.
extern constinit __attribute__((tls_model("initial-exec"))) thread_local char this_thread;

class brief_lock {
public:
    void lock()
    {
        if (!enter_favoured()) [[unlikely]] {
            take(true);
        }
    }

    bool try_lock()
    {
        // The thread that has it is told so like any other.
        const bool mine = m_favoured.load(std::memory_order_relaxed) == &this_thread;
        if (mine && m_inside.load(std::memory_order_relaxed)) {
            return false;
        }
        return enter_favoured() || take(false);
    }

    void unlock()
    {
        if (m_by_favour) {
            m_inside.store(false, std::memory_order_release);
        } else {
            m_taken.store(false, std::memory_order_release);
        }
    }

private:
    bool enter_favoured()
    {
        const char *me = &this_thread;
        if (m_favoured.load(std::memory_order_relaxed) != me) {
            return false;
        }
        m_inside.store(true, std::memory_order_relaxed);
        // The processor may still read first: see above.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (m_favoured.load(std::memory_order_relaxed) != me) [[unlikely]] {
            m_inside.store(false, std::memory_order_release);
            return false;
        }
        m_by_favour = true;
        return true;
    }

    bool take(bool patiently);
    bool consider(const char *me);

    // A thread's mark, or null, or `nobody`.
    std::atomic<const char *> m_favoured{nullptr};
    std::atomic<bool> m_taken{false};
    std::atomic<bool> m_inside{false}; // the favoured thread is, or looks whether it may
    // The holder's.
    bool m_by_favour   = false; // how it took the lock
    uint8_t m_streak   = 0; // times in a row that m_last took it
    const char *m_last = nullptr;
};

} // namespace softrdma
