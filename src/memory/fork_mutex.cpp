// SPDX-License-Identifier: BSD-3-Clause
#include "memory/fork_mutex.hpp"

#include <pthread.h>

namespace be::memory {

// The list of them, oldest first.
class ForkMutexes {
public:
    // Never destroyed: mutexes may come and go while the process exits.
    static ForkMutexes &instance()
    {
        static ForkMutexes *const mutexes = new ForkMutexes;
        return *mutexes;
    }

    void add(ForkMutex &mutex)
    {
        const std::lock_guard<std::mutex> guard(m_list);
        mutex.m_before                                 = m_last;
        (m_last == nullptr ? m_first : m_last->m_next) = &mutex;
        m_last                                         = &mutex;
    }

    void remove(ForkMutex &mutex)
    {
        const std::lock_guard<std::mutex> guard(m_list);
        (mutex.m_before == nullptr ? m_first : mutex.m_before->m_next) = mutex.m_next;
        (mutex.m_next == nullptr ? m_last : mutex.m_next->m_before)    = mutex.m_before;
    }

private:
    ForkMutexes()
    {
        pthread_atfork([] { instance().lock_all(); }, [] { instance().unlock_all(); },
                       [] { instance().unlock_all(); });
    }

    void lock_all()
    {
        m_list.lock();
        for (ForkMutex *mutex = m_first; mutex != nullptr; mutex = mutex->m_next) {
            mutex->lock();
        }
    }

    void unlock_all()
    {
        for (ForkMutex *mutex = m_first; mutex != nullptr; mutex = mutex->m_next) {
            mutex->unlock();
        }
        m_list.unlock();
    }

    std::mutex m_list;
    ForkMutex *m_first = nullptr;
    ForkMutex *m_last  = nullptr;
};

ForkMutex::ForkMutex()
{
    ForkMutexes::instance().add(*this);
}

ForkMutex::~ForkMutex()
{
    ForkMutexes::instance().remove(*this);
}

} // namespace be::memory
