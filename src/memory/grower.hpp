// SPDX-License-Identifier: BSD-3-Clause
//
// The thread of the process that maps and registers memory before it is needed, because
// that takes from microseconds to tenths of a second. It starts with the first arena that
// wants it, and sleeps.
//
// fork(): the child has no such thread until something asks for one.
#pragma once

#include <condition_variable>
#include <mutex>

namespace be::memory {

class Grower {
public:
    class Job {
    public:
        virtual void run() noexcept = 0;

    protected:
        ~Job() = default;

    private:
        friend class Grower;
        Job *m_next   = nullptr;
        bool m_queued = false;
    };

    // Never destroyed: arenas may be used while the process exits.
    static Grower &instance();

    // False: the system gives no thread. Any thread.
    bool start() noexcept;

    // Runs the job soon, in the thread of the grower; once, however often it was asked
    // for before it began. Allocates nothing. Any thread.
    void request(Job &job) noexcept;

    // Afterwards the job is not waiting and not running. Any thread but the grower's.
    void cancel(Job &job) noexcept;

private:
    Grower();
    bool start_locked() noexcept;
    void work() noexcept;

    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::condition_variable m_idle;
    Job *m_first   = nullptr;
    Job *m_last    = nullptr;
    Job *m_running = nullptr;
    bool m_started = false;
};

} // namespace be::memory
