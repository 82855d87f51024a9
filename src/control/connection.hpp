// SPDX-License-Identifier: BSD-3-Clause
//
// Drives one Session over one connected socket: reads, writes, keeps its time,
// and closes the stream in order. Control thread only.

#pragma once

#include "control/counters.hpp"
#include "control/data_flow.hpp"
#include "control/data_frame.hpp"
#include "control/listener.hpp"
#include "control/session.hpp"
#include "control/socket.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace be::control {

class Connection : public std::enable_shared_from_this<Connection> {
public:
    // Where events go. The calls may lead back into the connection.
    class Owner {
    public:
        virtual void on_event(Connection &connection, const SessionEvent &event) = 0;

        // Data may be sent again, see DataFlow.
        virtual void on_writable(Connection &connection) = 0;

        // The socket is done with; the owner lets go of the connection.
        virtual void on_gone(Connection &connection) = 0;

    protected:
        ~Owner() = default;
    };

    // How long a session that is over may take to send its last message and to
    // see the peer close.
    static constexpr auto linger_time = std::chrono::seconds(1);

    // `peer` names the other side in messages. `seat`: of an incoming connection,
    // released with the socket.
    Connection(Owner &owner, LiveCounters &counters, asio::io_context &context,
               std::unique_ptr<Socket> socket, Session session, ConnectionId id,
               std::string peer, std::unique_ptr<Listener::Seat> seat);
    ~Connection();

    // Call once, when the owner can find the connection by its id.
    void start();

    // Applies a local decision to the session and lets its consequences happen.
    void act(const std::function<void(Session &)> &decide) noexcept;

    // Does not read, or reads again. Inside Owner::on_event() it takes effect at once.
    void pause_reading(bool paused) noexcept;

    // The account of the data that is sent.
    void set_flow(std::shared_ptr<DataFlow> flow)
    {
        m_flow = std::move(flow);
    }

    // Writes a frame from where it is, behind those that wait in its flow, and copies what the
    // socket does not take. False: something else is to be written before it.
    bool write_data(const DataFrame &frame) noexcept;

    // See Session.
    Block &memory() noexcept
    {
        return m_session.memory();
    }

    // Keeps `token` until everything queued so far has been handed to the kernel
    // or the connection is gone.
    void hold_until_flushed(std::shared_ptr<void> token);

    // Lets go of the socket without ado.
    void abort() noexcept;

    // Ends the session because of a fault on this side.
    void fail(const std::string &detail) noexcept;

    // From here on a fabric knows of this connection, and it is not half open any
    // more. False, and nothing has changed, when the listener has no place for it.
    bool announce()
    {
        m_announced = !m_seat || m_seat->establish();
        return m_announced;
    }

    // What comes of the peer's proof, if it is the peer that has called.
    void judge(bool proof_is_good)
    {
        if (m_seat) {
            m_seat->judge(proof_is_good);
        }
    }

    bool announced() const noexcept
    {
        return m_announced;
    }

    ConnectionId id() const noexcept
    {
        return m_id;
    }

    const std::string &peer() const noexcept
    {
        return m_peer;
    }

    const Session &session() const noexcept
    {
        return m_session;
    }

private:
    using Clock = Session::Clock;

    template<class Handler>
    void guarded(Handler &&handler) noexcept;
    void step();
    void dispatch_events();
    void account();
    bool reads() const noexcept;
    void read();
    void consume(std::size_t filled);
    void on_read(const ErrorCode &error, std::size_t bytes);
    void write();
    void take_output();
    std::vector<iovec> unwritten() const;
    bool taken(std::size_t bytes);
    void on_written(const ErrorCode &error, std::size_t bytes);
    void arm_timer();
    void on_timer();
    Clock::time_point deadline() const noexcept;

    Owner &m_owner;
    LiveCounters &m_counters;
    std::unique_ptr<Socket> m_socket; // null when gone
    Session m_session;
    ConnectionId m_id;
    std::string m_peer;
    std::unique_ptr<Listener::Seat> m_seat;
    bool m_announced = false;
    std::shared_ptr<void> m_flush_token;

    std::array<std::uint8_t, 4096> m_input;
    std::span<const std::uint8_t> m_unread; // of m_input: not received by the session
    bool m_read_active = false;
    bool m_paused      = false;
    bool m_consuming   = false;

    std::shared_ptr<DataFlow> m_flow; // null: carries no data
    std::deque<Chunk> m_writing; // handed to the socket, from m_written on
    std::size_t m_written = 0; // of the first chunk
    bool m_write_active   = false;
    bool m_write_failed   = false; // the peer takes nothing any more
    bool m_peer_ended     = false; // nothing more will come from the peer

    asio::steady_timer m_timer;
    Clock::time_point m_armed_for    = Clock::time_point::max();
    Clock::time_point m_linger_until = Clock::time_point::max();

    std::uint64_t m_counted_in  = 0; // messages of the session already in m_counters
    std::uint64_t m_counted_out = 0;
};

} // namespace be::control
