// SPDX-License-Identifier: BSD-3-Clause
#include "brief_lock.h"

#include "log.h"

#include <cerrno>
#include <cstdlib>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace softrdma {

constinit thread_local char this_thread = 0;

namespace {

// Who makes an object takes its locks a few times, and another thread may be the one that uses it.
constexpr uint8_t streak_wanted = 16;

// The mark of no thread: nobody will be favoured any more.
constexpr char nobody = 0;

// Whether what watches the threads, if anything, knows this kind of barrier.
#if defined(__SANITIZE_THREAD__)
#define SOFTRDMA_THREADS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOFTRDMA_THREADS_WATCHED 1
#endif
#endif
#ifdef SOFTRDMA_THREADS_WATCHED
constexpr bool followed = false;
#else
constexpr bool followed = true;
#endif

int membarrier(int command)
{
    return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

bool register_for_barriers()
{
    return followed && (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
}

bool may_favour()
{
    static const bool registered = register_for_barriers();
    return registered;
}

// All threads of the process have passed a memory barrier when this returns.
void barrier_for_all()
{
    // The second for a child of fork() that is not registered, the last, which takes some milliseconds, for a system
    // that forbids what it allowed before.
    if ((membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) &&
        (!register_for_barriers() ||
         (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)) &&
        (membarrier(MEMBARRIER_CMD_GLOBAL) != 0)) {
        SOFTRDMA_LOG(error,
                     "membarrier: errno %d: the system allowed this call before, and "
                     "threads cannot be kept apart without it",
                     errno);
        abort();
    }
}

// Until `flag` is false, by the time it is looked at.
void wait(const std::atomic<bool> &flag)
{
    constexpr unsigned short_looks = 256; // some hundred microseconds
    for (unsigned looks = 0; flag.load(std::memory_order_acquire); ++looks) {
        if (looks < short_looks) {
            sched_yield();
            continue;
        }
        const timespec pause{0, 50'000};
        nanosleep(&pause, nullptr);
    }
}

} // namespace

// With m_taken, while nobody has been favoured. True when this thread is from now on, and has the lock as such.
bool brief_lock::consider(const char *me)
{
    m_streak = (m_last == me) ? m_streak + 1 : 1;
    m_last   = me;
    if (m_streak < streak_wanted) {
        return false;
    }
    if (!may_favour()) {
        m_favoured.store(&nobody, std::memory_order_relaxed);
        return false;
    }
    m_inside.store(true, std::memory_order_relaxed);
    m_favoured.store(me, std::memory_order_relaxed);
    m_by_favour = true;
    m_taken.store(false, std::memory_order_release);
    return true;
}

// False only where it would have to wait and is not to.
bool brief_lock::take(bool patiently)
{
    while (m_taken.exchange(true, std::memory_order_acquire)) {
        if (!patiently) {
            return false;
        }
        wait(m_taken);
    }
    const char *favoured = m_favoured.load(std::memory_order_relaxed);
    if (favoured == nullptr) {
        if (consider(&this_thread)) {
            return true;
        }
    } else if (favoured != &nobody) {
        m_favoured.store(&nobody, std::memory_order_relaxed);
        barrier_for_all();
    }
    if ((favoured != nullptr) && m_inside.load(std::memory_order_acquire)) {
        if (!patiently) {
            m_taken.store(false, std::memory_order_release);
            return false;
        }
        wait(m_inside);
    }
    m_by_favour = false;
    return true;
}

} // namespace softrdma
