// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/completion.hpp"

#include "adapter/worker.hpp"

#include <algorithm>
#include <utility>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace be::adapter {

namespace {

void futex_wait(std::atomic<uint32_t> &word, uint32_t value, Clock::time_point until)
{
    timespec time{};
    timespec *limit = nullptr;

    if (until != Clock::time_point::max()) {
        const auto left = std::max(until - Clock::now(), Clock::duration::zero());
        time.tv_sec     = std::chrono::floor<std::chrono::seconds>(left).count();
        time.tv_nsec    = (left % std::chrono::seconds(1)).count();
        limit           = &time;
    }
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, limit, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t> &word)
{
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// Callbacks that start what ends at once must not nest without bound: those callbacks
// wait here until the one that runs has returned.
thread_local bool t_in_callback      = false;
thread_local Completion *t_callbacks = nullptr; // last first

} // namespace

bool Completion::ready() const noexcept
{
    return m_done.load(std::memory_order_acquire) == done;
}

void Completion::spin(Worker &worker, Clock::time_point until,
                      void (*start)(Completion &))
{
    const RuntimeOptions &runtime = worker.options();
    Worker::Helper helper(worker);

    if (start != nullptr) {
        start(*this);
    }
    if (runtime.progress != Progress::polling) {
        until = std::min(until, Clock::now() + runtime.spin);
    }
    while (!ready() && !worker.stopped()) {
        helper.progress();
        if (!ready() && (Clock::now() >= until)) {
            break;
        }
    }
}

bool Completion::wait(Worker &worker, Clock::time_point until)
{
    if (ready()) {
        return true;
    }
    if (Worker::current() != nullptr) {
        // A handler: its thread must not block, others may wait for what it does.
        Clock::time_point idle_since = Clock::now();
        while (!ready() && (Clock::now() < until)) {
            Worker::current()->attend(worker, idle_since);
        }
        return ready();
    }
    if (worker.options().progress != Progress::event_driven) {
        spin(worker, until, nullptr);
    }
    for (;;) {
        uint32_t state = pending;
        if (!m_done.compare_exchange_strong(state, slept_on, std::memory_order_acq_rel) &&
            (state == done)) {
            return true;
        }
        futex_wait(m_done, slept_on, until);
        if (!ready() && (Clock::now() >= until)) {
            return false;
        }
    }
}

bool Completion::on_done(std::coroutine_handle<> handle) noexcept
{
    void *expected = nullptr;
    return m_waiter.compare_exchange_strong(expected, handle.address(),
                                            std::memory_order_acq_rel);
}

Completion *Completion::join(Completion *newer, Completion *older) noexcept
{
    if (newer == nullptr) {
        return older;
    }
    Completion *last = newer;
    while (last->next_finished != nullptr) {
        last = last->next_finished;
    }
    last->next_finished = older;
    return newer;
}

void Completion::complete()
{
    // From now on whoever waits may take the result.
    if (m_done.exchange(done, std::memory_order_acq_rel) == slept_on) {
        futex_wake(m_done);
    }
    // An awaiter is there, or finds this mark and goes on by itself.
    void *const none   = this;
    void *const waiter = m_waiter.exchange(none, std::memory_order_acq_rel);
    if (waiter != nullptr) {
        std::coroutine_handle<>::from_address(waiter).resume();
    }
}

void Completion::settle(Completion *finished)
{
    Completion *first = nullptr;
    while (finished != nullptr) { // oldest first
        Completion *next = std::exchange(finished->next_finished, first);
        first            = finished;
        finished         = next;
    }
    while (first != nullptr) {
        Completion *next = std::exchange(first->next_finished, nullptr);
        if (first->has_callback()) {
            first->next_finished = t_callbacks;
            t_callbacks          = first;
        } else {
            const auto keep = std::move(first->m_kept);
            first->complete();
        }
        first = next;
    }
    if (t_in_callback || (t_callbacks == nullptr)) {
        return;
    }
    t_in_callback = true;
    while (t_callbacks != nullptr) {
        run_callbacks(std::exchange(t_callbacks, nullptr));
    }
    t_in_callback = false;
}

void Completion::run_callbacks(Completion *last)
{
    Completion *first = nullptr;
    while (last != nullptr) {
        Completion *next = std::exchange(last->next_finished, first);
        first            = last;
        last             = next;
    }
    while (first != nullptr) {
        Completion *next = std::exchange(first->next_finished, nullptr);
        const auto keep  = std::move(first->m_kept);
        first->m_done.store(done, std::memory_order_release);
        first->run_callback();
        first = next;
    }
}

} // namespace be::adapter
