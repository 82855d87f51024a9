// SPDX-License-Identifier: BSD-3-Clause
//
// One call of a channel, from start to reply.
//
// The caller's side waits for its completion; everything in the middle belongs to the holder
// of the worker's lock. It keeps itself alive until it is settled.
#pragma once

#include "adapter/completion.hpp"
#include "adapter/endpoint.hpp"
#include "adapter/posted.hpp"
#include "adapter/stream_state.hpp"
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

class CallState final :
    public Completion,
    public StreamOwner,
    public std::enable_shared_from_this<CallState> {
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

    // The caller's side, any thread.
    void start();
    Reply run(); // start, and wait while making progress
    Reply take();
    bool wait_for(std::chrono::microseconds limit);
    void cancel();
    Worker &worker() const noexcept;

    const std::shared_ptr<ChannelState> channel;
    const std::string method;
    const CallOptions options;
    const Clock::time_point begun;
    const Clock::time_point deadline;

    //
    // Under the worker's lock
    //

    Stage stage          = Stage::pausing;
    bool sending         = false; // `out` is UCP's
    bool receiving       = false; // UCP writes to the response's memory
    bool retry_when_sent = false;
    bool answered = false; // with success; perhaps parts of its stream are still to come
    uint64_t id   = 0; // in the connection's table
    std::shared_ptr<Connection> connection; // while sent
    std::list<CallState *>::iterator place; // while queued
    CallTimer deadline_timer;
    CallTimer retry_timer;
    CallOut out;
    std::shared_ptr<StreamState> stream; // of a call that is one
    Reply reply;
    std::shared_ptr<CallState> self_sending; // while sending
    CallState *next_active     = nullptr; // of the channel's calls that have not ended
    CallState *previous_active = nullptr;

private:
    struct Item : Posted {
        Item(CallState &owner, Run run) : Posted(run), call(owner)
        {
        }
        CallState &call;
    };

    void on_part() override;
    void on_too_large(const std::string &text) override;
    void on_dropped(bool finished) override;
    bool has_callback() const noexcept override;
    void run_callback() override;

    std::atomic<bool> m_canceled = false;
    Channel::Callback m_callback;
    std::shared_ptr<CallState> m_self_canceling;
    Item m_start_item;
    Item m_cancel_item;
};

} // namespace be::adapter
