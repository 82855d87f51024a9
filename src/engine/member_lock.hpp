// SPDX-License-Identifier: BSD-3-Clause
//
// The lock of a fabric that several members share; a branch that is not taken, for a fabric with one owner.
//
// lock() is for whoever must get in (a send), try_lock() for whoever may leave the work to others (progress). Those who
// wait go first: pollers are many and would not let them in. Sections are short and call nobody outside.
//
// A child of fork() has only the thread that forked. If another one held the lock, it is held for ever: the
// child does without.

#pragma once

#include "control/process.hpp"

#include <atomic>
#include <mutex>

namespace be::engine {

class MemberLock {
public:
    explicit MemberLock(bool shared) noexcept :
        m_shared(shared), m_generation(control::process_generation())
    {
    }

    bool shared() const noexcept
    {
        return m_shared;
    }

    // This process is a child of the one that made the fabric.
    bool inherited() const noexcept
    {
        return control::process_generation() != m_generation;
    }

    void lock()
    {
        if (m_shared && !m_mutex.try_lock()) [[unlikely]] {
            wait();
        }
    }

    bool try_lock() noexcept
    {
        return !m_shared ||
               (m_waiting.load(std::memory_order_relaxed) == 0 && m_mutex.try_lock());
    }

    void unlock() noexcept
    {
        if (m_shared) {
            m_mutex.unlock();
        }
    }

private:
    static constexpr unsigned spins =
            100; // a section is that short, unless its thread has lost the processor

    void wait()
    {
        if (inherited()) {
            m_shared = false;
            return;
        }
        m_waiting.fetch_add(1, std::memory_order_relaxed);
        bool locked = false;
        for (unsigned i = 0; i < spins && !locked; ++i) {
            locked = m_mutex.try_lock();
        }
        if (!locked) {
            m_mutex.lock();
        }
        m_waiting.fetch_sub(1, std::memory_order_relaxed);
    }

    std::mutex m_mutex;
    std::atomic<unsigned> m_waiting{0};
    bool m_shared;
    const unsigned m_generation;
};

} // namespace be::engine
