// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of calls.
#include "adapter/channel_state.hpp"

#include "adapter/random.hpp"

#include <algorithm>
#include <utility>

namespace be::adapter {

ChannelState::ChannelState(std::shared_ptr<Worker> worker,
                           const ChannelOptions &options) :
    m_worker(std::move(worker)),
    m_options(options),
    m_incarnations(options.addresses.size(), 0),
    m_backoff(*this,
              [](Timer &timer) {
                  ChannelState &self = static_cast<BackoffTimer &>(timer).channel;
                  self.connect();
              }),
    m_random(static_cast<uint32_t>(random_number()))
{
    for (const std::string &text : options.addresses) {
        m_addresses.push_back(parse_address(text, "address of a channel"));
    }
}

void ChannelState::submit(CallState &call)
{
    counters.active.add();
    m_worker->expect(1);
    call.next_active = m_active;
    if (m_active != nullptr) {
        m_active->previous_active = &call;
    }
    m_active = &call;
    if (m_closed || m_worker->stopped()) {
        end(call, Status::closed, "the channel or its runtime is closed");
        return;
    }
    m_worker->timers.add(call.deadline_timer, call.deadline);
    dispatch(call, call.begun); // a moment ago: not worth another look at the clock
}

void ChannelState::dispatch(CallState &call, Clock::time_point now)
{
    if (call.deadline <= now) {
        end(call, Status::deadline_exceeded,
            "the deadline passed before the call was sent");
        return;
    }
    if ((m_current != nullptr) && queue_of(call).empty() &&
        m_current->accepts(call.options.priority == Priority::bulk)) {
        m_current->send(call, now);
        return;
    }
    if (m_queue.size() + m_bulk_queue.size() >= m_options.max_queued) {
        end(call, Status::would_block,
            "the channel's queue of " + std::to_string(m_options.max_queued) +
                    " calls is full (ChannelOptions::max_queued)");
        return;
    }
    enqueue(call);
    if ((m_current == nullptr) && !m_backoff.set()) {
        connect();
    }
}

std::list<CallState *> &ChannelState::queue_of(const CallState &call) noexcept
{
    return (call.options.priority == Priority::bulk) ? m_bulk_queue : m_queue;
}

void ChannelState::enqueue(CallState &call)
{
    std::list<CallState *> &queue = queue_of(call);

    if (m_spare.empty()) {
        m_spare.push_back(nullptr);
    }
    queue.splice(queue.end(), m_spare, m_spare.begin());
    call.place  = std::prev(queue.end());
    *call.place = &call;
    call.stage  = Stage::queued;
    counters.queued.add();
}

// Sends what the connection has room for.
void ChannelState::pump()
{
    for (std::list<CallState *> *queue : {&m_queue, &m_bulk_queue}) {
        while (!queue->empty() && (m_current != nullptr) &&
               m_current->accepts(queue == &m_bulk_queue)) {
            CallState &call = *queue->front();
            leave(call, false);
            m_current->send(call, Clock::now());
        }
    }
}

void ChannelState::leave(CallState &call, bool tell)
{
    switch (call.stage) {
    case Stage::queued:
        m_spare.splice(m_spare.begin(), queue_of(call), call.place);
        counters.queued.subtract();
        break;
    case Stage::sent:
        call.connection->remove(call, tell);
        break;
    case Stage::pausing:
    case Stage::ended:
        break;
    }
    call.retry_timer.clear();
    call.stage = Stage::pausing;
}

void ChannelState::end(CallState &call, Status status, std::string text)
{
    if (call.stage == Stage::ended) {
        return;
    }
    const bool given_up = (status == Status::deadline_exceeded) ||
                          (status == Status::canceled) || (status == Status::closed) ||
                          ((call.stream != nullptr) && (status == Status::too_large));
    const bool was_sent = call.stage == Stage::sent;
    leave(call, given_up && !call.receiving && !call.answered);
    call.stage = Stage::ended;
    call.deadline_timer.clear();
    (call.previous_active != nullptr ? call.previous_active->next_active :
                                       m_active) = call.next_active;
    if (call.next_active != nullptr) {
        call.next_active->previous_active = call.previous_active;
    }
    call.reply.status = status;
    call.reply.text   = std::move(text);
    if (status != Status::ok) {
        call.reply.body = Body();
    }
    if (call.stream != nullptr) {
        call.stream->end(status);
    }
    if (!call.receiving && !(call.sending && call.out.body.borrowed())) {
        finish(call);
    }
    if (was_sent) {
        pump();
    }
}

// Nothing of the caller's is in use any more.
void ChannelState::finish(CallState &call)
{
    counters.active.subtract();
    counters.calls.add();
    m_worker->counters.calls.add();
    m_worker->expect(-1);
    m_worker->finished(call);
}

void ChannelState::on_sent(CallState &call, ucs_status_t status)
{
    const auto keep = std::move(call.self_sending);

    call.sending = false;
    if (call.stage == Stage::ended) {
        if (!call.receiving && call.out.body.borrowed()) {
            finish(call);
        }
    } else if (std::exchange(call.retry_when_sent, false)) {
        dispatch(call, Clock::now());
    } else if ((status != UCS_OK) && (call.stage == Stage::sent)) {
        // Usually the connection has failed; whatever it is, the request is lost.
        m_worker->fail(*call.connection,
                       std::string("cannot send: ") + ucs_status_string(status));
    }
}

void ChannelState::on_received(CallState &call, ucs_status_t status)
{
    call.receiving = false;
    if (call.stage == Stage::ended) { // the deadline or a cancellation was first
        if (!(call.sending && call.out.body.borrowed())) {
            finish(call);
        }
    } else if (status == UCS_OK) {
        on_answered(call);
    } else {
        on_lost(call,
                std::string("cannot receive the response: ") + ucs_status_string(status));
    }
}

// Parts may come behind the answer.
void ChannelState::on_answered(CallState &call)
{
    call.answered = true;
    if ((call.stream == nullptr) || call.stream->complete()) {
        end(call, Status::ok, {});
    }
}

void ChannelState::on_refusal(CallState &call, Status status, std::string text)
{
    const bool begun = (call.stream != nullptr) && call.stream->begun();
    if (!begun && ((status == Status::overloaded) || (status == Status::draining))) {
        if (status == Status::draining) {
            call.connection->drain();
        }
        retry(call, status, std::move(text));
    } else {
        end(call, status, std::move(text));
    }
}

// The connection has failed. The request was handed to UCP.
void ChannelState::on_lost(CallState &call, const std::string &why)
{
    std::string text = why;
    if (call.connection != nullptr) {
        text = m_options.addresses[call.connection->address()] + ": " + why;
    }
    if (call.receiving) {
        leave(call, false); // comes again when the transport has let go of the memory
        return;
    }
    if (m_closed || m_worker->stopped()) {
        end(call, Status::connection_lost, text);
    } else if (call.options.idempotent) {
        retry(call, Status::connection_lost, text);
    } else {
        end(call, Status::connection_lost,
            text + "; whether the call was run is unknown");
    }
}

void ChannelState::retry(CallState &call, Status status, std::string text)
{
    if (call.reply.attempts >= call.options.max_attempts) {
        end(call, status, std::move(text));
        return;
    }
    counters.retries.add();
    m_worker->counters.retries.add();
    leave(call, false);
    if (call.sending) {
        call.retry_when_sent = true; // UCP has the body and the header until then
    } else if (status == Status::overloaded) {
        m_worker->timers.add(call.retry_timer,
                             Clock::now() + backoff(call.reply.attempts - 1));
    } else {
        dispatch(call, Clock::now());
    }
}

void ChannelState::on_deadline(CallState &call)
{
    const char *where = (call.stage == Stage::sent) ? "before the response came" :
                        (m_current == nullptr)      ? "before a server could be reached" :
                                                      "before the call was sent";
    end(call, Status::deadline_exceeded, std::string("the deadline passed ") + where);
}

void ChannelState::on_cancel(CallState &call)
{
    end(call, Status::canceled, "canceled by the caller");
}

} // namespace be::adapter
