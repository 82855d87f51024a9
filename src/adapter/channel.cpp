// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/channel.hpp>

#include "adapter/channel_state.hpp"
#include "adapter/runtime_workers.hpp"

#include <utility>

namespace be {

const Body &Reply::value() const
{
    if (status != Status::ok) {
        throw Error(status, std::string(to_string(status)) + ": " + text);
    }
    return body;
}

Call::Call(std::shared_ptr<adapter::CallState> state) noexcept : m_state(std::move(state))
{
}

Call::Call(Call &&) noexcept            = default;
Call &Call::operator=(Call &&) noexcept = default;
Call::~Call()                           = default;

bool Call::ready() const noexcept
{
    return m_state->ready();
}

Reply Call::get()
{
    return m_state->take();
}

bool Call::wait_for(std::chrono::microseconds limit)
{
    return m_state->wait_for(limit);
}

void Call::cancel() noexcept
{
    m_state->cancel();
}

bool Call::resume_later(std::coroutine_handle<> handle)
{
    return m_state->on_done(handle);
}

namespace {

void check(const ChannelOptions &options)
{
    const auto bad = [](const std::string &what) { throw Error(Status::closed, what); };

    if (options.addresses.empty()) {
        bad("ChannelOptions::addresses is empty: expected at least one address");
    }
    if (options.max_in_flight == 0) {
        bad("ChannelOptions::max_in_flight 0: expected at least 1");
    }
    if (options.connect_timeout.count() < 1) {
        bad("ChannelOptions::connect_timeout " +
            std::to_string(options.connect_timeout.count()) + " ms: expected at least 1");
    }
    if ((options.min_backoff.count() < 1) ||
        (options.max_backoff < options.min_backoff)) {
        bad("ChannelOptions::min_backoff " + std::to_string(options.min_backoff.count()) +
            " ms, max_backoff " + std::to_string(options.max_backoff.count()) +
            " ms: expected 1 <= min_backoff <= max_backoff");
    }
}

std::shared_ptr<adapter::CallState>
make_call(const std::shared_ptr<adapter::ChannelState> &channel,
          const std::string &method, Body body, const CallOptions &options,
          Channel::Callback callback)
{
    if (method.empty() || (method.size() > adapter::wire::max_name)) {
        throw Error(Status::no_such_method,
                    "method '" + method + "': a name has 1 to " +
                            std::to_string(adapter::wire::max_name) + " bytes");
    }
    return std::make_shared<adapter::CallState>(channel, method, std::move(body), options,
                                                std::move(callback));
}

} // namespace

Channel::Channel(Runtime &runtime, const ChannelOptions &options)
{
    check(options);
    m_state = std::make_shared<adapter::ChannelState>(runtime.workers()->next(), options);
    m_state->worker().run([this] { m_state->worker().residents.insert(m_state.get()); });
}

Channel::~Channel()
{
    m_state->worker().run([this] { m_state->close(); });
}

Reply Channel::call(const std::string &method, Body body, const CallOptions &options)
{
    return make_call(m_state, method, std::move(body), options, {})->run();
}

Call Channel::start(const std::string &method, Body body, const CallOptions &options)
{
    auto call = make_call(m_state, method, std::move(body), options, {});
    call->start();
    return Call(std::move(call));
}

void Channel::start(const std::string &method, Body body, const CallOptions &options,
                    Callback callback)
{
    make_call(m_state, method, std::move(body), options, std::move(callback))->start();
}

StreamCall Channel::open(const std::string &method, Body body, const CallOptions &options,
                         const StreamOptions &stream)
{
    CallOptions once = options;
    once.idempotent  = false;
    adapter::check(stream);
    auto call    = make_call(m_state, method, std::move(body), once, {});
    call->stream = std::make_shared<adapter::StreamState>(
            m_state->worker().shared_from_this(), *call, stream);
    StreamCall opened{Stream(call->stream), Call(call)};
    call->start();
    return opened;
}

ChannelStats Channel::stats() const
{
    const adapter::ChannelCounters &counters = m_state->counters;
    ChannelStats stats;

    stats.calls     = counters.calls;
    stats.retries   = counters.retries;
    stats.connects  = counters.connects;
    stats.failures  = counters.failures;
    stats.restarts  = counters.restarts;
    stats.queued    = counters.queued;
    stats.in_flight = counters.active - std::min<uint64_t>(counters.active, stats.queued);
    return stats;
}

} // namespace be
