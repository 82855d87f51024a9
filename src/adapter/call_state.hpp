// SPDX-License-Identifier: BSD-3-Clause
//
// One call of a channel, from start to reply.
//
// The caller's side waits for `m_done`; everything in the middle belongs to the holder of
// the worker's lock. The channel keeps the call alive by `self` until it is settled.
#pragma once

#include "adapter/endpoint.hpp"
#include "adapter/posted.hpp"
#include "adapter/timer_wheel.hpp"

#include <byteexpress/channel.hpp>

#include <atomic>
#include <list>
#include <optional>

namespace be::adapter {

class Connection;

enum class Stage : uint8_t {
    queued, // in the channel's queue
    sent, // in the connection's table
    pausing, // in neither: new, or until it is tried again
    ended, // the outcome is known; perhaps the transport still uses memory
};

class CallState : public std::enable_shared_from_this<CallState> {
public:
    struct CallTimer : Timer {
        CallTimer(CallState &owner, Fire fire) : Timer(fire), call(owner)
        {
        }
        CallState &call;
    };

    struct CallOut : Outgoing {
        CallOut(CallState &owner, Done function) : Outgoing(function), call(owner)
        {
        }
        CallState &call;
    };

    CallState(std::shared_ptr<ChannelState> channel, const std::string &method, Body body,
              const CallOptions &options, Channel::Callback callback);
    CallState(const CallState &)            = delete;
    CallState &operator=(const CallState &) = delete;

    // The caller's side, any thread.
    void start();
    Reply run(); // start, and wait while making progress
    bool ready() const noexcept;
    Reply take();
    bool wait(Clock::time_point until);
    bool on_done(std::coroutine_handle<> handle) noexcept; // false: it is done already
    void cancel();
    Worker &worker() const noexcept;

    // Calls that have ended, linked by next_finished, last first. settle() tells the
    // callers, in order; without any lock.
    static CallState *join(CallState *newer, CallState *older) noexcept;
    static void settle(CallState *finished);

    const std::shared_ptr<ChannelState> channel;
    const std::string method;
    const CallOptions options;
    const Clock::time_point deadline;

    //
    // Under the worker's lock
    //

    Stage stage          = Stage::pausing;
    bool sending         = false; // `out` is UCP's
    bool receiving       = false; // UCP writes to the response's memory
    bool retry_when_sent = false;
    uint64_t id          = 0; // in the connection's table
    std::shared_ptr<Connection> connection; // while sent
    std::list<CallState *>::iterator place; // while queued
    CallTimer deadline_timer;
    CallTimer retry_timer;
    CallOut out;
    Reply reply;
    std::shared_ptr<CallState> self; // until settled
    std::shared_ptr<CallState> self_sending; // while sending
    CallState *next_finished   = nullptr;
    CallState *next_active     = nullptr; // of the channel's calls that have not ended
    CallState *previous_active = nullptr;

private:
    struct Item : Posted {
        Item(CallState &owner, Run run) : Posted(run), call(owner)
        {
        }
        CallState &call;
    };

    void spin(Clock::time_point until, bool starting);
    static void run_callbacks(CallState *last);
    void complete();

    static constexpr uint32_t pending = 0, slept_on = 1, done = 2;
    std::atomic<uint32_t> m_done = pending; // a futex
    std::atomic<void *> m_waiter = nullptr; // coroutine
    std::atomic<bool> m_canceled = false;
    Channel::Callback m_callback;
    std::shared_ptr<CallState> m_self_canceling;
    Item m_start_item;
    Item m_cancel_item;
};

} // namespace be::adapter
