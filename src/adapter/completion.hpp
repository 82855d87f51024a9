// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody waits for, once: a thread, a coroutine or a callback. It is completed
// without the worker's lock, as code of the user follows.
#pragma once

#include "adapter/timer_wheel.hpp"

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>

namespace be::adapter {

class Worker;

class Completion {
public:
    Completion()                              = default;
    Completion(const Completion &)            = delete;
    Completion &operator=(const Completion &) = delete;
    virtual ~Completion()                     = default;

    // Any thread.
    bool ready() const noexcept;
    bool on_done(std::coroutine_handle<> handle) noexcept; // false: it is done already

    // Makes progress on `worker`, for a while, and sleeps then. False when `until` passed
    // before. May be used in a handler.
    bool wait(Worker &worker, Clock::time_point until);

    // Those that are to be completed, linked, last first. settle() tells who waits, in
    // order; without any lock.
    static Completion *join(Completion *newer, Completion *older) noexcept;
    static void settle(Completion *finished);

    Completion *next_finished = nullptr;

protected:
    // Makes progress for the worker's thread, for a while, after `start` (if given).
    void spin(Worker &worker, Clock::time_point until, void (*start)(Completion &));

    std::shared_ptr<void> m_kept; // itself, until it is completed

private:
    virtual bool has_callback() const noexcept = 0;
    virtual void run_callback()                = 0; // may throw nothing

    static void run_callbacks(Completion *last);
    void complete();

    static constexpr std::uint32_t pending = 0, slept_on = 1, done = 2;
    std::atomic<std::uint32_t> m_done = pending; // a futex
    std::atomic<void *> m_waiter      = nullptr; // coroutine
};

} // namespace be::adapter
