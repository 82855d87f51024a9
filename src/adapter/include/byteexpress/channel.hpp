// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/body.hpp>
#include <byteexpress/runtime.hpp>
#include <byteexpress/status.hpp>
#include <byteexpress/stream.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace be {

namespace adapter {
class CallState;
class ChannelState;
} // namespace adapter

/** Which calls go first. */
enum class Priority : std::uint8_t {
    latency, //< ahead of bulk in the channel's queue and on the server
    bulk, //< keeps at most half of the channel's requests under way
};

/** Waits for ever. */
inline constexpr std::chrono::microseconds no_deadline = std::chrono::microseconds::max();

/** How a call is made. */
struct CallOptions {
    /** From now until the call ends at the latest, counted over all attempts. */
    std::chrono::microseconds timeout = std::chrono::seconds(10);

    /**
     * May run twice: then it is also tried again after a connection failed with the call
     * under way. A call that is not idempotent is tried again only when it provably was
     * not run.
     */
    bool idempotent = false;

    /** Attempts altogether, those included that found no server: at least 1. */
    unsigned max_attempts = 4;

    /** Bulk goes behind what is urgent. */
    Priority priority = Priority::latency;

    /**
     * Where the response goes, without a copy when it is large. Valid until the call has
     * ended. A larger response ends the call with Status::too_large. Empty: the
     * library takes memory for it.
     */
    std::span<std::byte> response = {};
};

/** How a call ended. */
struct BE_API Reply {
    /** How the call ended. */
    Status status = Status::closed;

    /** The handler's own, with Status::handler_failed. */
    std::uint32_t code = 0;

    /** Why it is not ok, for people. */
    std::string text;

    /** The response; refers to CallOptions::response if that was given. */
    Body body;

    /** Of the server that answered or was asked last; 0: none. */
    std::uint64_t incarnation = 0;

    /** Attempts that were made. */
    unsigned attempts = 0;

    /** The call succeeded. */
    bool ok() const noexcept
    {
        return status == Status::ok;
    }

    /** The body. @throws Error when not ok. */
    const Body &value() const;
};

/**
 * A call under way: a future, to be waited for or co_await-ed once. Dropping it does not
 * cancel the call.
 */
class BE_API Call {
public:
    explicit Call(std::shared_ptr<adapter::CallState> state) noexcept;
    Call(Call &&) noexcept;
    Call &operator=(Call &&) noexcept;
    ~Call();

    /** It has ended: get() does not wait. */
    bool ready() const noexcept;

    /** Waits, then gives the reply; once. May be used in a handler. */
    Reply get();

    /** False when the call has not ended after `limit`. */
    bool wait_for(std::chrono::microseconds limit);

    /** Ends the call with Status::canceled unless it has ended. Any thread. */
    void cancel() noexcept;

    /** co_await gives the Reply; goes on on the thread that completes the call. */
    auto operator co_await() &&noexcept
    {
        struct Awaiter {
            Call call;
            bool await_ready() noexcept
            {
                return call.ready();
            }
            bool await_suspend(std::coroutine_handle<> handle)
            {
                return call.resume_later(handle);
            }
            Reply await_resume()
            {
                return call.get();
            }
        };
        return Awaiter{std::move(*this)};
    }

private:
    bool resume_later(std::coroutine_handle<> handle);

    std::shared_ptr<adapter::CallState> m_state;
};

/** A stream, and the call that it belongs to. */
struct StreamCall {
    /** Parts in both directions. */
    Stream parts;

    /** Ends when the handler has answered and all of its parts have come. */
    Call call;
};

/** How a channel finds and uses its service. */
struct ChannelOptions {
    /** Addresses of the service, as Server::address(), best first: at least one. */
    std::vector<std::string> addresses;

    /** Time for one address to answer. */
    std::chrono::milliseconds connect_timeout{2000};

    /**
     * After all addresses have failed: wait min_backoff, then twice as long each time
     * up to max_backoff, each varied at random by half.
     */
    std::chrono::milliseconds min_backoff{5};
    /** See min_backoff; at least that. */
    std::chrono::milliseconds max_backoff{1000};

    /** Calls under way to the server, at most; the server may allow less. At least 1. */
    std::size_t max_in_flight = 256;

    /** Calls that wait for their turn or a connection: beyond that, would_block. */
    std::size_t max_queued = 4096;

    /** Bytes of a response that the library takes memory for, at most. */
    std::size_t max_response = std::size_t{1} << 30;
};

/** Totals of a channel since the start, and what it does now. */
struct ChannelStats {
    std::uint64_t calls     = 0; //< ended
    std::uint64_t retries   = 0; //< further attempts
    std::uint64_t connects  = 0; //< connections that became usable
    std::uint64_t failures  = 0; //< connections that failed, and attempts to connect
    std::uint64_t restarts  = 0; //< times an address had another incarnation than before
    std::uint64_t in_flight = 0; //< now
    std::uint64_t queued    = 0; //< now
};

/**
 * One service, at one or more addresses. Connects with the first call, and anew after a
 * failure; when an address fails or drains, the next one is used.
 *
 * Threads: any function from any thread. Callbacks run on a thread of the runtime or on
 * one that waits in call() or get(), without any lock held; they must not throw.
 *
 * A channel's requests start in the order of the calls of one thread and one
 * priority; handlers may run in another order.
 */
class BE_API Channel {
public:
    /** Gets the reply of a call. */
    using Callback = std::function<void(Reply)>;

    /** Does not connect. @throws Error naming the option. */
    Channel(Runtime &runtime, const ChannelOptions &options);

    /** Ends calls under way with Status::closed. */
    ~Channel();
    Channel(const Channel &)            = delete;
    Channel &operator=(const Channel &) = delete;

    /** Calls and waits: the calling thread makes progress itself, the fastest way. */
    Reply call(const std::string &method, Body body, const CallOptions &options = {});

    /** Calls; the result comes with the future. */
    Call start(const std::string &method, Body body, const CallOptions &options = {});

    /** Calls; `callback` gets the result, exactly once, possibly before this returns. */
    void start(const std::string &method, Body body, const CallOptions &options,
               Callback callback);

    /**
     * Opens a stream: calls a method that was added as one (Server::add_stream()). Does not
     * wait. It takes one of the channel's places until it has ended.
     *
     * Of `options`, idempotent is ignored: a stream that was begun is never tried again. A
     * server of a version that has no streams ends the call with Status::no_such_method.
     *
     * @throws Error for a bad name or bad options of the stream.
     */
    StreamCall open(const std::string &method, Body body, const CallOptions &options = {},
                    const StreamOptions &stream = {});

    /** Not of one moment while calls are under way. */
    ChannelStats stats() const;

private:
    std::shared_ptr<adapter::ChannelState> m_state;
};

} // namespace be
