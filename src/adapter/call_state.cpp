// SPDX-License-Identifier: BSD-3-Clause
//
// The caller's side of a call.
#include "adapter/call_state.hpp"

#include "adapter/channel_state.hpp"
#include "adapter/worker.hpp"

#include <algorithm>
#include <utility>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace be::adapter {

namespace {

Clock::time_point after(std::chrono::microseconds timeout)
{
    const Clock::time_point now = Clock::now();
    // in microseconds: more of them than nanoseconds fit into a duration
    const auto longest = std::chrono::floor<std::chrono::microseconds>(
            Clock::time_point::max() - now);
    return (timeout >= longest) ? Clock::time_point::max() : now + timeout;
}

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

// Callbacks that start calls which end at once must not nest without bound: those callbacks
// wait here until the one that runs has returned.
thread_local bool t_in_callback     = false;
thread_local CallState *t_callbacks = nullptr; // last first

} // namespace

CallState::CallState(std::shared_ptr<ChannelState> owner, const std::string &name,
                     Body body, const CallOptions &call_options,
                     Channel::Callback callback) :
    channel(std::move(owner)),
    method(name),
    options(call_options),
    deadline(after(call_options.timeout)),
    deadline_timer(*this,
                   [](Timer &timer) {
                       CallState &call = static_cast<CallTimer &>(timer).call;
                       call.channel->on_deadline(call);
                   }),
    retry_timer(*this,
                [](Timer &timer) {
                    CallState &call = static_cast<CallTimer &>(timer).call;
                    call.channel->dispatch(call);
                }),
    out(*this,
        [](Outgoing &sent, ucs_status_t status) {
            CallState &call = static_cast<CallOut &>(sent).call;
            call.channel->on_sent(call, status);
        }),
    m_callback(std::move(callback)),
    m_start_item(*this,
                 [](Posted &item) {
                     CallState &call = static_cast<Item &>(item).call;
                     call.channel->submit(call);
                 }),
    m_cancel_item(*this, [](Posted &item) {
        CallState &call = static_cast<Item &>(item).call;
        const auto keep = std::move(call.m_self_canceling);
        call.channel->on_cancel(call);
    })
{
    out.body = std::move(body);
}

Worker &CallState::worker() const noexcept
{
    return channel->worker();
}

void CallState::start()
{
    self = shared_from_this();
    worker().post(m_start_item);
}

void CallState::cancel()
{
    if (!ready() && !m_canceled.exchange(true)) {
        m_self_canceling = shared_from_this();
        worker().post(m_cancel_item);
    }
}

bool CallState::ready() const noexcept
{
    return m_done.load(std::memory_order_acquire) == done;
}

Reply CallState::run()
{
    if ((worker().options().progress == Progress::event_driven) ||
        (Worker::current() != nullptr)) {
        start();
    } else {
        // A helper from before the start: nobody needs to be woken for it.
        spin(Clock::time_point::max(), true);
    }
    return take();
}

Reply CallState::take()
{
    wait(Clock::time_point::max());
    return std::move(reply);
}

// Makes progress for the worker's thread, for a while.
void CallState::spin(Clock::time_point until, bool starting)
{
    const RuntimeOptions &runtime = worker().options();
    Worker::Helper helper(worker());

    if (starting) {
        start();
    }
    if (runtime.progress != Progress::polling) {
        until = std::min(until, Clock::now() + runtime.spin);
    }
    while (!ready() && !worker().stopped()) {
        helper.progress();
        if (Clock::now() >= until) {
            break;
        }
    }
}

bool CallState::wait(Clock::time_point until)
{
    if (ready()) {
        return true;
    }
    if (Worker::current() != nullptr) {
        // A handler: its thread must not block, others may wait for what it does.
        Clock::time_point idle_since = Clock::now();
        while (!ready() && (Clock::now() < until)) {
            Worker::current()->attend(worker(), idle_since);
        }
        return ready();
    }
    if (worker().options().progress != Progress::event_driven) {
        spin(until, false);
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

bool CallState::on_done(std::coroutine_handle<> handle) noexcept
{
    void *expected = nullptr;
    return m_waiter.compare_exchange_strong(expected, handle.address(),
                                            std::memory_order_acq_rel);
}

CallState *CallState::join(CallState *newer, CallState *older) noexcept
{
    if (newer == nullptr) {
        return older;
    }
    CallState *last = newer;
    while (last->next_finished != nullptr) {
        last = last->next_finished;
    }
    last->next_finished = older;
    return newer;
}

void CallState::complete()
{
    // From now on the caller may take the reply.
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

void CallState::settle(CallState *finished)
{
    CallState *first = nullptr;
    while (finished != nullptr) { // oldest first
        CallState *next = std::exchange(finished->next_finished, first);
        first           = finished;
        finished        = next;
    }
    while (first != nullptr) {
        CallState *next = std::exchange(first->next_finished, nullptr);
        if (first->m_callback) {
            first->next_finished = t_callbacks;
            t_callbacks          = first;
        } else {
            const auto keep = std::move(first->self);
            keep->complete();
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

void CallState::run_callbacks(CallState *last)
{
    CallState *first = nullptr;
    while (last != nullptr) {
        CallState *next = std::exchange(last->next_finished, first);
        first           = last;
        last            = next;
    }
    while (first != nullptr) {
        CallState *next = std::exchange(first->next_finished, nullptr);
        const auto keep = std::move(first->self);
        keep->m_done.store(done, std::memory_order_release);
        std::exchange(keep->m_callback, nullptr)(std::move(keep->reply));
        first = next;
    }
}

} // namespace be::adapter
