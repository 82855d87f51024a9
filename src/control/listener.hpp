// SPDX-License-Identifier: BSD-3-Clause
//
// One listening socket. Accepts while fewer than the allowed number of
// connections are half open, rests otherwise, and rests for a moment when the
// system refuses (out of descriptors). Closes at once what comes from an address
// that has failed to authenticate too often. Control thread only.

#pragma once

#include "control/counters.hpp"
#include "control/failure_limiter.hpp"
#include "control/socket.hpp"
#include "control/types.hpp"

#include <functional>
#include <memory>
#include <string>

namespace be::control {

class Listener : public std::enable_shared_from_this<Listener> {
public:
    // What an incoming connection occupies, from accept() to its destruction.
    class Seat {
    public:
        // Half open to begin with.
        Seat(std::shared_ptr<Listener> listener, const Address &peer);
        ~Seat();
        Seat(const Seat &)            = delete;
        Seat &operator=(const Seat &) = delete;

        // It is through the handshake. False, and half open still, when there are as
        // many such connections as are allowed.
        bool establish();

        // Whether the peer has proved that it knows the token.
        void judge(bool proof_is_good);

    private:
        void leave_door() noexcept;

        std::shared_ptr<Listener> m_listener;
        Address m_peer;
        bool m_established = false;
    };

    // Takes a new connection.
    using OnAccept = std::function<void(std::unique_ptr<Socket> socket,
                                        const Address &peer, std::unique_ptr<Seat> seat)>;

    // Rest after accept() has failed for want of something.
    static constexpr auto rest = std::chrono::milliseconds(100);

    // Binds and listens. Throws std::system_error that names the address.
    Listener(asio::io_context &context, LiveCounters &counters, const Address &ip,
             const ListenOptions &options, OnAccept on_accept);
    ~Listener();

    // Call once.
    void start();

    // No connection is accepted after this.
    void stop() noexcept;

    // Where it listens.
    const Address &address() const noexcept
    {
        return m_address;
    }

    const ListenOptions &options() const noexcept
    {
        return m_options;
    }

private:
    int listen();
    void wait() noexcept;
    void accept_waiting() noexcept;
    bool accept_one();
    void rest_after(int error);

    asio::io_context &m_context;
    LiveCounters &m_counters;
    ListenOptions m_options;
    OnAccept m_on_accept;
    Address m_address;
    std::unique_ptr<Socket> m_socket; // null when stopped
    asio::steady_timer m_timer;
    FailureLimiter m_failures;
    std::size_t m_half_open   = 0;
    std::size_t m_established = 0;
    bool m_waiting            = false; // for the socket or for the timer
};

} // namespace be::control
