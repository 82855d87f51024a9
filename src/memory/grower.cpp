// SPDX-License-Identifier: BSD-3-Clause
#include "memory/grower.hpp"

#include <pthread.h>
#include <signal.h>

#include <new>
#include <system_error>
#include <thread>

namespace be::memory {

Grower &Grower::instance()
{
    static Grower *const grower = new Grower;
    return *grower;
}

Grower::Grower()
{
    // The child of a fork has the lock in a known state, and no thread. The one variable
    // that its lost waiter is part of is made anew.
    pthread_atfork([] { instance().m_mutex.lock(); }, [] { instance().m_mutex.unlock(); },
                   [] {
                       Grower &grower   = instance();
                       grower.m_started = false;
                       grower.m_running = nullptr;
                       new (&grower.m_wake) std::condition_variable;
                       new (&grower.m_idle) std::condition_variable;
                       grower.m_mutex.unlock();
                   });
}

bool Grower::start_locked() noexcept
{
    if (m_started) {
        return true;
    }
    // Signals are for the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread([this] { work(); }).detach();
        m_started = true;
    } catch (const std::system_error &) {
        // No thread: memory is mapped when it is needed.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return m_started;
}

bool Grower::start() noexcept
{
    const std::lock_guard<std::mutex> guard(m_mutex);
    return start_locked();
}

void Grower::request(Job &job) noexcept
{
    const std::lock_guard<std::mutex> guard(m_mutex);
    if (job.m_queued || !start_locked()) {
        return;
    }
    job.m_queued                                    = true;
    job.m_next                                      = nullptr;
    (m_first == nullptr ? m_first : m_last->m_next) = &job;
    m_last                                          = &job;
    m_wake.notify_one();
}

void Grower::cancel(Job &job) noexcept
{
    std::unique_lock<std::mutex> lock(m_mutex);
    Job *before = nullptr;
    for (Job *other = m_first; other != nullptr; before = other, other = other->m_next) {
        if (other == &job) {
            (before == nullptr ? m_first : before->m_next) = job.m_next;
            m_last       = (m_last == &job) ? before : m_last;
            job.m_queued = false;
            break;
        }
    }
    m_idle.wait(lock, [&] { return m_running != &job; });
}

void Grower::work() noexcept
{
    pthread_setname_np(pthread_self(), "be-memory");
    std::unique_lock<std::mutex> lock(m_mutex);
    for (;;) {
        m_wake.wait(lock, [this] { return m_first != nullptr; });
        Job *job      = m_first;
        m_first       = job->m_next;
        job->m_queued = false;
        m_running     = job;
        lock.unlock();
        job->run();
        lock.lock();
        m_running = nullptr;
        m_idle.notify_all();
    }
}

} // namespace be::memory
