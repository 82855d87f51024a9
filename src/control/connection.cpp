// SPDX-License-Identifier: BSD-3-Clause

#include "control/connection.hpp"

#include "control/logger.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

namespace be::control {

Connection::Connection(Owner &owner, LiveCounters &counters, asio::io_context &context,
                       std::unique_ptr<Socket> socket, Session session, ConnectionId id,
                       std::string peer, std::unique_ptr<Listener::Seat> seat) :
    m_owner(owner),
    m_counters(counters),
    m_socket(std::move(socket)),
    m_session(std::move(session)),
    m_id(id),
    m_peer(std::move(peer)),
    m_seat(std::move(seat)),
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
    m_seat.reset();
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
    dispatch_events();
    if (!m_socket) {
        return;
    }

    if (m_session.finished() && (m_linger_until == Clock::time_point::max())) {
        m_linger_until = Clock::now() + linger_time;
        m_unread       = {};
        if (!m_peer_ended) {
            read(); // in case that it was paused
        }
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
    account(); // who hears of a message finds it counted
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

// A session that is over reads on, to see the peer close.
bool Connection::reads() const noexcept
{
    return !m_paused || m_session.finished();
}

void Connection::read()
{
    if (!m_socket || m_read_active || !m_unread.empty() || !reads()) {
        return;
    }

    // The rest of a frame goes where that is, and what follows to m_input.
    auto space = m_session.space();
    const std::array<asio::mutable_buffer, 2> buffers{asio::buffer(space.data(),
                                                                   space.size()),
                                                      asio::buffer(m_input)};
    m_read_active = true;
    m_socket->stream().async_read_some(buffers,
                                       [self = shared_from_this()](const ErrorCode &error,
                                                                   std::size_t bytes) {
                                           self->m_read_active = false;
                                           self->guarded(
                                                   [&] { self->on_read(error, bytes); });
                                       });
}

// Gives the session what has been read, piece by piece, until the fabric has enough:
// `filled` bytes in its own space(), or m_unread.
void Connection::consume(std::size_t filled)
{
    if (m_consuming) {
        return;
    }

    m_consuming = true;
    if (filled != 0) {
        m_session.filled(filled);
        m_session.receive({}, Clock::now());
        dispatch_events();
    }
    while (!m_unread.empty() && reads()) {
        m_unread = m_session.receive(m_unread, Clock::now());
        dispatch_events();
    }
    m_consuming = false;
}

void Connection::pause_reading(bool paused) noexcept
{
    auto self = shared_from_this();
    guarded([&] {
        m_paused = paused;
        m_session.set_paused(paused, Clock::now());
        if (!m_consuming) {
            consume(0);
            read();
            step();
        }
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
        const auto filled = std::min(bytes, m_session.space().size());
        m_unread          = {m_input.data(), bytes - filled};
        consume(filled);
        read();
    }
    step();
}

// So much that one call of the system can hand it to the kernel.
void Connection::take_output()
{
    constexpr std::size_t max_chunks = 16;

    while (m_writing.size() < max_chunks) {
        auto chunk = m_session.take_output();
        if (chunk.empty()) {
            return;
        }
        m_writing.push_back(std::move(chunk));
    }
}

bool Connection::write_data(const DataFrame &frame) noexcept
{
    constexpr std::size_t most_before = 32; // a frame, in one call of the system

    if (!m_socket || m_write_active || m_write_failed || !m_writing.empty() ||
        !m_session.may_send_data()) {
        return false;
    }

    auto self    = shared_from_this();
    bool is_next = true;
    guarded([&] {
        is_next = m_flow->take_waiting(m_writing, most_before);
        if (!is_next) {
            return;
        }
        auto parts               = unwritten();
        const std::size_t before = std::accumulate(
                parts.begin(), parts.end(), std::size_t{0},
                [](std::size_t sum, const iovec &part) { return sum + part.iov_len; });
        for (const auto &part : frame.parts()) {
            parts.push_back(part);
        }
        m_session.has_sent_data(m_writing.size() + 1);
        const auto written = m_socket->write(parts);
        const auto done    = written - std::min(written, before); // of the frame
        LiveCounters::add(m_counters.bytes_out, written);
        account();
        if (done < frame.size()) { // half of one is not followed by another
            m_flow->add_rest(frame.size() - done);
        }
        const bool is_open = taken(written - done);
        if (done < frame.size()) {
            m_writing.push_back(frame.copy(done));
            write();
        }
        if (is_open) {
            m_owner.on_writable(*this);
        }
    });
    return is_next;
}

std::vector<iovec> Connection::unwritten() const
{
    std::vector<iovec> parts;
    for (const auto &chunk : m_writing) {
        parts.push_back({const_cast<std::uint8_t *>(chunk.bytes.data()), chunk.size()});
    }
    return parts;
}

void Connection::write()
{
    if (m_write_active) {
        return;
    }

    take_output();
    if (m_writing.empty() || m_write_failed) {
        m_flush_token.reset();
        if (m_session.finished()) {
            m_socket->shut_down_sending();
        }
        return;
    }

    std::vector<asio::const_buffer> buffers;
    for (const auto &chunk : m_writing) {
        buffers.emplace_back(chunk.bytes.data(), chunk.size());
    }
    buffers.front() += m_written;
    m_write_active = true;
    m_socket->stream().async_write_some(
            buffers,
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
    if (taken(bytes) && !m_session.finished()) {
        m_owner.on_writable(*this);
    }
    step();
}

// The socket has taken these bytes of m_writing. True when data may be sent again.
bool Connection::taken(std::size_t bytes)
{
    std::size_t data = 0;
    for (std::size_t n = 0; bytes != 0; bytes -= n) {
        const auto &chunk = m_writing.front();
        n                 = std::min(bytes, chunk.size() - m_written);
        if (chunk.is_data) {
            data += n;
        } else {
            m_session.sent(n);
        }
        m_written += n;
        if (m_written == chunk.size()) {
            m_writing.pop_front();
            m_written = 0;
        }
    }
    return (data != 0) && m_flow->drained(data);
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
