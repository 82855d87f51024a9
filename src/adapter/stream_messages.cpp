// SPDX-License-Identifier: BSD-3-Clause
//
// The connection's side of a stream. Under the worker's lock, all.
#include "adapter/block_pool.hpp"
#include "adapter/stream_state.hpp"
#include "adapter/worker.hpp"

#include <cstring>
#include <utility>

namespace be::adapter {

void StreamState::bind(std::shared_ptr<Endpoint> endpoint, uint64_t id, uint64_t credit,
                       bool told)
{
    m_endpoint = std::move(endpoint);
    m_id       = id;
    std::lock_guard lock(m_mutex);
    m_allowed = credit;
    if (told) {
        m_window.give_credit();
        m_granted = true;
    }
}

void StreamState::send(Message &out, wire::Kind kind, uint8_t flags)
{
    out.encode({.kind       = kind,
                .flags      = flags,
                .connection = m_endpoint->peer(),
                .id         = m_id,
                .value      = out.value});
    m_worker->send(*m_endpoint, out);
}

void StreamState::send_part(Posted &item)
{
    auto &out = static_cast<PartMessage &>(item);
    out.stream->send(out, wire::Kind::part, 0);
}

void StreamState::sent_part(Outgoing &sent, ucs_status_t)
{
    auto &out = static_cast<PartMessage &>(sent);
    std::shared_ptr<StreamState> self;
    Body gone;
    {
        std::lock_guard lock(out.stream->m_mutex);
        self = std::move(out.self);
        gone = std::move(out.body);
    }
    self->advance();
}

void StreamState::send_credit(Posted &item)
{
    auto &out = static_cast<CreditMessage &>(item);
    out.stream->send(out, wire::Kind::credit, 0);
}

void StreamState::sent_credit(Outgoing &sent, ucs_status_t)
{
    auto &out = static_cast<CreditMessage &>(sent);
    std::shared_ptr<StreamState> self;
    {
        std::lock_guard lock(out.stream->m_mutex);
        self = std::move(out.self);
    }
    self->advance();
}

void StreamState::send_last(Posted &item)
{
    auto &out = static_cast<LastMessage &>(item);
    out.stream->send(out, wire::Kind::part, wire::flag_last);
}

void StreamState::sent_last(Outgoing &sent, ucs_status_t)
{
    // may be the last reference
    const auto keep = std::move(static_cast<LastMessage &>(sent).self);
}

// Whatever waits goes on, if it can now.
void StreamState::advance()
{
    Operation reader;
    Operation writer;
    Message *out    = nullptr;
    Message *credit = nullptr;
    Message *last   = nullptr;
    {
        std::lock_guard lock(m_mutex);
        if (m_reader != nullptr) {
            m_reader->part = take();
            if (m_reader->part.status != Status::would_block) {
                reader = std::move(m_reader);
            }
        }
        while (m_dropped && m_window.ready()) {
            m_window.take();
        }
        if (m_writer != nullptr) {
            const Status status = put(m_writer->part.body, out);
            if (status != Status::would_block) {
                m_writer->part = {status, {}, false};
                writer         = std::move(m_writer);
            }
        }
        credit = due_credit();
        last   = due_last();
    }
    post(out, credit);
    post(last);
    for (const Operation &done : {reader, writer}) {
        if (done != nullptr) {
            m_worker->finished(*done);
        }
    }
}

const char *StreamState::on_part(Incoming &message)
{
    const uint64_t number = message.header.value;

    if ((message.header.flags & wire::flag_last) != 0) {
        return (message.length != 0) ? "an end of a stream with a body" :
                                       set_total(number);
    }
    {
        std::lock_guard lock(m_mutex);
        if (m_ended) {
            return nullptr;
        }
        if (const char *why = m_window.reserve(number)) {
            return why;
        }
    }
    if (message.length > options.max_part) {
        if (m_owner != nullptr) {
            m_owner->on_too_large("part " + std::to_string(number) +
                                  " of the stream has " + std::to_string(message.length) +
                                  " bytes, at most " + std::to_string(options.max_part) +
                                  " were expected (StreamOptions::max_part)");
        }
        return nullptr;
    }
    // Small ones are copied, too: they may have to wait for long, and the transport's
    // buffers are everybody's.
    auto memory     = pooled(message.length);
    std::byte *to   = memory.get();
    const Body body = Body(std::move(memory), {to, message.length});
    if (!message.remote) {
        if (message.length != 0) {
            std::memcpy(to, message.data, message.length);
        }
        arrived(number, body, UCS_OK);
        return nullptr;
    }
    m_worker->receive(message, to,
                      [self = shared_from_this(), number, body](ucs_status_t status) {
                          self->arrived(number, body, status);
                      });
    return nullptr;
}

void StreamState::arrived(uint64_t number, Body body, ucs_status_t status)
{
    if (status != UCS_OK) {
        m_worker->fail(*m_endpoint, std::string("cannot receive part ") +
                                            std::to_string(number) +
                                            " of a stream: " + ucs_status_string(status));
        return;
    }
    {
        std::lock_guard lock(m_mutex);
        if (m_ended) {
            return;
        }
        m_window.put(number, std::move(body));
    }
    if (m_owner != nullptr) {
        m_owner->on_part();
    }
    advance();
}

const char *StreamState::on_credit(uint64_t credit)
{
    {
        std::lock_guard lock(m_mutex);
        if ((credit == 0) || (credit > m_written + wire::max_parts)) {
            return "credit that no stream gives";
        }
        m_allowed = std::max(m_allowed, credit);
    }
    advance();
    return nullptr;
}

const char *StreamState::set_total(uint64_t parts)
{
    {
        std::lock_guard lock(m_mutex);
        if (m_ended) {
            return nullptr;
        }
        if (const char *why = m_window.set_total(parts)) {
            return why;
        }
    }
    advance();
    return nullptr;
}

bool StreamState::begun()
{
    std::lock_guard lock(m_mutex);
    return m_allowed != 0;
}

bool StreamState::complete()
{
    std::lock_guard lock(m_mutex);
    return m_window.complete();
}

uint64_t StreamState::written()
{
    std::lock_guard lock(m_mutex);
    return m_written;
}

void StreamState::end(Status status)
{
    m_owner = nullptr;
    {
        std::lock_guard lock(m_mutex);
        if (m_ended) {
            return;
        }
        m_ended  = true;
        m_status = status;
        if (status != Status::ok) {
            m_window.clear();
        }
    }
    advance();
}

} // namespace be::adapter
