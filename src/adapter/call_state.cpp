// SPDX-License-Identifier: BSD-3-Clause
//
// The caller's side of a call.
#include "adapter/call_state.hpp"

#include "adapter/channel_state.hpp"
#include "adapter/worker.hpp"

#include <algorithm>
#include <utility>

namespace be::adapter {

namespace {

Clock::time_point after(Clock::time_point now, std::chrono::microseconds timeout)
{
    // in microseconds: more of them than nanoseconds fit into a duration
    const auto longest = std::chrono::floor<std::chrono::microseconds>(
            Clock::time_point::max() - now);
    return (timeout >= longest) ? Clock::time_point::max() : now + timeout;
}

} // namespace

CallState::CallState(std::shared_ptr<ChannelState> owner, const std::string &name,
                     Body body, const CallOptions &call_options,
                     Channel::Callback callback) :
    channel(std::move(owner)),
    method(name),
    options(call_options),
    begun(Clock::now()),
    deadline(after(begun, call_options.timeout)),
    deadline_timer(*this,
                   [](Timer &timer) {
                       CallState &call = static_cast<CallTimer &>(timer).call;
                       call.channel->on_deadline(call);
                   }),
    retry_timer(*this,
                [](Timer &timer) {
                    CallState &call = static_cast<CallTimer &>(timer).call;
                    call.channel->dispatch(call, Clock::now());
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
    m_kept = shared_from_this();
    worker().post(m_start_item);
}

void CallState::cancel()
{
    if (!ready() && !m_canceled.exchange(true)) {
        m_self_canceling = shared_from_this();
        worker().post(m_cancel_item);
    }
}

Reply CallState::run()
{
    if ((worker().options().progress == Progress::event_driven) ||
        (Worker::current() != nullptr)) {
        start();
    } else {
        // A helper from before the start: nobody needs to be woken for it.
        spin(worker(), Clock::time_point::max(),
             [](Completion &call) { static_cast<CallState &>(call).start(); });
    }
    return take();
}

Reply CallState::take()
{
    wait(worker(), Clock::time_point::max());
    return std::move(reply);
}

bool CallState::wait_for(std::chrono::microseconds limit)
{
    return wait(worker(), after(Clock::now(), limit));
}

void CallState::on_part()
{
    if (answered) {
        channel->on_answered(*this);
    }
}

void CallState::on_too_large(const std::string &text)
{
    channel->end(*this, Status::too_large, "the call was run, but " + text);
}

void CallState::on_dropped(bool finished)
{
    if (!finished) {
        channel->end(*this, Status::canceled, "its stream was dropped before finish()");
    }
}

bool CallState::has_callback() const noexcept
{
    return m_callback != nullptr;
}

void CallState::run_callback()
{
    std::exchange(m_callback, nullptr)(std::move(reply));
}

} // namespace be::adapter
