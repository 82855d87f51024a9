// SPDX-License-Identifier: BSD-3-Clause
//
// The user's side of a stream.
#include "adapter/stream_state.hpp"

#include "adapter/worker.hpp"

#include <stdexcept>
#include <utility>

namespace be::adapter {

void check(const StreamOptions &options)
{
    if ((options.parts == 0) || (options.parts > wire::max_parts)) {
        throw Error(Status::closed,
                    "StreamOptions::parts " + std::to_string(options.parts) +
                            ": expected 1 to " + std::to_string(wire::max_parts));
    }
    if (options.max_part == 0) {
        throw Error(Status::closed, "StreamOptions::max_part 0: expected at least 1");
    }
}

StreamState::StreamState(std::shared_ptr<Worker> worker, StreamOwner &owner,
                         const StreamOptions &what) :
    options(what),
    m_worker(std::move(worker)),
    m_owner(&owner),
    m_window(what.parts),
    m_out(what.parts)
{
    for (PartMessage &out : m_out) {
        out.stream = this;
    }
    m_credit_message.stream = this;
    m_last_message.stream   = this;
}

// Connections are let go of under the lock.
StreamState::~StreamState()
{
    if (m_endpoint != nullptr) {
        const auto worker = m_worker;
        worker->post([endpoint = std::move(m_endpoint)] {});
    }
}

void StreamState::check(const Body &part) const
{
    if (part.borrowed()) {
        throw std::logic_error("be::Stream: a borrowed part: expected one with an owner, "
                               "whose end says when its memory may be used again");
    }
    if (m_finished) {
        throw std::logic_error("be::Stream: a part after finish()");
    }
    if (m_writer != nullptr) {
        throw std::logic_error("be::Stream: a write while another one waits");
    }
}

Part StreamState::take()
{
    if (m_ended && (m_status != Status::ok)) {
        return {m_status, {}, false};
    }
    if (m_window.ready()) {
        return {Status::ok, m_window.take(), false};
    }
    if (m_window.at_end()) {
        return {Status::ok, {}, true};
    }
    return {};
}

Status StreamState::put(Body &part, Message *&out)
{
    if (m_ended) {
        return (m_status == Status::ok) ? Status::closed : m_status;
    }
    PartMessage &free = m_out[m_written % m_out.size()];
    if ((m_written >= m_allowed) || (free.self != nullptr)) {
        return Status::would_block;
    }
    free.body  = std::move(part);
    free.value = m_written++;
    free.self  = shared_from_this();
    out        = &free;
    return Status::ok;
}

Part StreamState::try_read()
{
    Part part;
    Message *credit = nullptr;
    {
        std::lock_guard lock(m_mutex);
        if (m_reader != nullptr) {
            throw std::logic_error("be::Stream: a read while another one waits");
        }
        part   = take();
        credit = due_credit();
    }
    post(credit);
    return part;
}

Status StreamState::try_write(Body part)
{
    Message *out = nullptr;
    Status status;
    {
        std::lock_guard lock(m_mutex);
        check(part);
        status = (part.size() > options.max_part) ? Status::too_large : put(part, out);
    }
    post(out);
    return status;
}

StreamState::Operation StreamState::start_read(StreamOperation::Callback callback)
{
    auto operation  = std::make_shared<StreamOperation>(std::move(callback));
    Message *credit = nullptr;
    {
        std::lock_guard lock(m_mutex);
        if (m_reader != nullptr) {
            throw std::logic_error("be::Stream: a read while another one waits");
        }
        operation->keep();
        operation->part = take();
        if (operation->part.status == Status::would_block) {
            m_reader = operation;
            return operation;
        }
        credit = due_credit();
    }
    post(credit);
    Completion::settle(operation.get());
    return operation;
}

StreamState::Operation
StreamState::start_write(Body part, StreamOperation::Callback callback)
{
    auto operation = std::make_shared<StreamOperation>(std::move(callback));
    Message *out   = nullptr;
    {
        std::lock_guard lock(m_mutex);
        check(part);
        operation->keep();
        const Status status = (part.size() > options.max_part) ? Status::too_large :
                                                                 put(part, out);
        operation->part     = {status, {}, false};
        if (status == Status::would_block) {
            operation->part.body = std::move(part);
            m_writer             = operation;
            return operation;
        }
    }
    post(out);
    Completion::settle(operation.get());
    return operation;
}

Part StreamState::wait(StreamOperation &operation)
{
    operation.wait(*m_worker, Clock::time_point::max());
    return std::move(operation.part);
}

Status StreamState::finish()
{
    Message *last = nullptr;
    {
        std::lock_guard lock(m_mutex);
        if (m_writer != nullptr) {
            throw std::logic_error("be::Stream::finish: a write waits");
        }
        if (m_ended && (m_status != Status::ok)) {
            return m_status;
        }
        m_finished = true;
        last       = due_last();
    }
    post(last);
    return Status::ok;
}

void StreamState::drop()
{
    const auto worker = m_worker;

    worker->post([self = shared_from_this()] {
        bool finished = false;
        {
            std::lock_guard lock(self->m_mutex);
            self->m_dropped = true;
            finished        = self->m_finished;
        }
        if (self->m_owner != nullptr) {
            self->m_owner->on_dropped(finished);
        }
        self->advance();
    });
}

void StreamState::grant()
{
    Message *credit = nullptr;
    {
        std::lock_guard lock(m_mutex);
        m_granted = true;
        credit    = due_credit();
    }
    post(credit);
}

// The other side must have the request before it hears of its end.
StreamState::Message *StreamState::due_last()
{
    if (!m_finished || m_last_sent || m_ended || (m_allowed == 0)) {
        return nullptr;
    }
    m_last_sent          = true;
    m_last_message.value = m_written;
    m_last_message.self  = shared_from_this();
    return &m_last_message;
}

StreamState::Message *StreamState::due_credit()
{
    if (!m_granted || m_ended || (m_credit_message.self != nullptr) ||
        !m_window.credit_is_due()) {
        return nullptr;
    }
    m_window.give_credit();
    m_credit_message.value = m_window.credit();
    m_credit_message.self  = shared_from_this();
    return &m_credit_message;
}

void StreamState::post(Message *first, Message *second)
{
    for (Message *message : {first, second}) {
        if (message != nullptr) {
            m_worker->post(*message);
        }
    }
}

} // namespace be::adapter
