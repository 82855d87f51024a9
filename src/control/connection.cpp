// SPDX-License-Identifier: BSD-3-Clause

#include "control/connection.hpp"

#include "control/logger.hpp"

#include <exception>

namespace be::control {

Connection::Connection(Owner &owner, LiveCounters &counters, asio::io_context &context,
                       std::unique_ptr<Socket> socket, Session session, ConnectionId id,
                       std::string peer, std::shared_ptr<void> half_open) :
    m_owner(owner),
    m_counters(counters),
    m_socket(std::move(socket)),
    m_session(std::move(session)),
    m_id(id),
    m_peer(std::move(peer)),
    m_half_open(std::move(half_open)),
    m_timer(context)
{
    m_socket->set_no_delay();
    LiveCounters::add(m_counters.connections);
}

Connection::~Connection()
{
    if (m_socket) {
        LiveCounters::subtract(m_counters.connections);
    }
}

// Runs a handler of this connection. Whatever it throws (memory, a bug, a
// fabric's callback) ends this connection and nothing else.
template<class Handler>
void Connection::guarded(Handler &&handler) noexcept
{
    try {
        handler();
    } catch (const std::exception &error) {
        fail(error.what());
    } catch (...) {
        fail("unknown exception");
    }
}

void Connection::fail(const std::string &detail) noexcept
{
    log(Level::error, "connection with " + m_peer + " ends: " + detail);
    try {
        m_session.lost(Reason::local, detail);
        dispatch_events();
    } catch (...) {
        log(Level::error,
            "the end of the connection with " + m_peer + " could not be reported");
    }
    abort();
}

void Connection::start()
{
    auto self = shared_from_this();
    guarded([this] {
        read();
        step();
    });
}

void Connection::act(const std::function<void(Session &)> &decide) noexcept
{
    auto self = shared_from_this();
    guarded([&] {
        decide(m_session);
        step();
    });
}

void Connection::abort() noexcept
{
    if (!m_socket) {
        return;
    }

    auto self = shared_from_this();
    m_socket.reset();
    LiveCounters::subtract(m_counters.connections);
    ErrorCode ignored;
    m_timer.cancel(ignored);
    m_half_open.reset();
    m_flush_token.reset();
    m_owner.on_gone(*this);
}

void Connection::hold_until_flushed(std::shared_ptr<void> token)
{
    if (m_socket && !m_writing.empty()) {
        m_flush_token = std::move(token);
    }
}

// Lets the session's state take effect. Called after everything that may have
// changed it; may call itself through the owner.
void Connection::step()
{
    account();
    dispatch_events();
    if (!m_socket) {
        return;
    }

    if (m_session.finished() && (m_linger_until == Clock::time_point::max())) {
        m_linger_until = Clock::now() + linger_time;
    }
    write();
    if (m_session.finished() && m_peer_ended) {
        abort();
    } else {
        arm_timer();
    }
}

void Connection::dispatch_events()
{
    while (auto event = m_session.next_event()) {
        m_owner.on_event(*this, *event);
    }
}

void Connection::account()
{
    LiveCounters::add(m_counters.messages_in, m_session.messages_in() - m_counted_in);
    LiveCounters::add(m_counters.messages_out, m_session.messages_out() - m_counted_out);
    m_counted_in  = m_session.messages_in();
    m_counted_out = m_session.messages_out();
}

void Connection::read()
{
    m_socket->stream().async_read_some(asio::buffer(m_input),
                                       [self = shared_from_this()](const ErrorCode &error,
                                                                   std::size_t bytes) {
                                           self->guarded(
                                                   [&] { self->on_read(error, bytes); });
                                       });
}

void Connection::on_read(const ErrorCode &error, std::size_t bytes)
{
    if (!m_socket) {
        return;
    }

    if (error) {
        m_peer_ended = true;
        m_session.lost(Reason::closed_by_peer, (error == asio::error::eof) ?
                                                       "the peer closed the connection" :
                                                       error.message());
    } else {
        LiveCounters::add(m_counters.bytes_in, bytes);
        m_session.receive({m_input.data(), bytes}, Clock::now());
        read();
    }
    step();
}

void Connection::write()
{
    if (m_write_active) {
        return;
    }

    if (m_writing.empty()) {
        m_writing = m_session.take_output();
        m_written = 0;
    }
    if (m_writing.empty() || m_write_failed) {
        m_flush_token.reset();
        if (m_session.finished()) {
            m_socket->shut_down_sending();
        }
        return;
    }

    m_write_active = true;
    m_socket->stream().async_write_some(
            asio::buffer(m_writing) + m_written,
            [self = shared_from_this()](const ErrorCode &error, std::size_t bytes) {
                self->guarded([&] { self->on_written(error, bytes); });
            });
}

void Connection::on_written(const ErrorCode &error, std::size_t bytes)
{
    m_write_active = false;
    if (!m_socket) {
        return;
    }

    // The reading side will find the same fault, after it has read what the peer
    // said last: that tells more about the reason.
    m_write_failed = static_cast<bool>(error);

    LiveCounters::add(m_counters.bytes_out, bytes);
    m_session.sent(bytes);
    m_written += bytes;
    if (m_written == m_writing.size()) {
        m_writing.clear();
    }
    step();
}

Connection::Clock::time_point Connection::deadline() const noexcept
{
    return m_session.finished() ? m_linger_until : m_session.deadline();
}

// One wait is outstanding at a time unless the deadline has moved forward; when
// it has moved back, which every arrival does, the timer finds out as it fires.
void Connection::arm_timer()
{
    auto due = deadline();
    if (due >= m_armed_for) {
        return;
    }

    m_armed_for = due;
    m_timer.expires_at(due);
    m_timer.async_wait([self = shared_from_this()](const ErrorCode &error) {
        if (!error) {
            self->guarded([&] { self->on_timer(); });
        }
    });
}

void Connection::on_timer()
{
    m_armed_for = Clock::time_point::max();
    if (!m_socket) {
        return;
    }

    auto now = Clock::now();
    if (now >= m_linger_until) {
        abort();
        return;
    }

    m_session.tick(now);
    step();
}

} // namespace be::control
