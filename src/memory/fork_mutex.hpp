// SPDX-License-Identifier: BSD-3-Clause
//
// A mutex that fork() leaves free in the child, with what it protects in a consistent
// state: all of them are held while the process forks.
//
// Order: who holds one may take another only if that was made later.
#pragma once

#include <mutex>

namespace be::memory {

class ForkMutex {
public:
    ForkMutex();
    ~ForkMutex();
    ForkMutex(const ForkMutex &)            = delete;
    ForkMutex &operator=(const ForkMutex &) = delete;

    void lock()
    {
        m_mutex.lock();
    }

    void unlock()
    {
        m_mutex.unlock();
    }

private:
    friend class ForkMutexes;

    std::mutex m_mutex;
    ForkMutex *m_before = nullptr;
    ForkMutex *m_next   = nullptr;
};

} // namespace be::memory
