// SPDX-License-Identifier: BSD-3-Clause
//
// Establishes the TCP connection of one Node::connect() or probe(), again and again if need
// be: a server that is overloaded drops clients before it has authenticated
// itself. Knows nothing of the protocol. Control thread only.

#pragma once

#include "control/counters.hpp"
#include "control/reason.hpp"
#include "control/session.hpp"
#include "control/socket.hpp"

#include <memory>
#include <string>

namespace be::control {

class Dial : public std::enable_shared_from_this<Dial> {
public:
    using Clock = Session::Clock;

    // What to connect, and what to say once connected.
    struct Request {
        ConnectionId id = 0;
        LocalFabric local{};
        Address address{};
        Identity remote{};
        ConnectInfo mine{};
        bool probe = false; // ask whether `remote` lives there, no more
    };

    class Owner {
    public:
        // A socket is connected. The dial stays, in case of again().
        virtual void on_connected(Dial &dial, std::unique_ptr<Socket> socket) = 0;

        // There will be no connection.
        virtual void
        on_dial_failed(Dial &dial, Reason reason, const std::string &detail) = 0;

    protected:
        ~Owner() = default;
    };

    // Pause before the second attempt, doubled for each further one up to the
    // longest; each is shortened at random by up to a half, so that many clients
    // of one server do not come back in step.
    static constexpr auto first_pause   = std::chrono::milliseconds(20);
    static constexpr auto longest_pause = std::chrono::milliseconds(500);

    // The same for a probe, which is mostly dropped because its server is ending.
    static constexpr auto first_probe_pause = std::chrono::milliseconds(2);

    Dial(Owner &owner, LiveCounters &counters, asio::io_context &context, Request request,
         Clock::duration patience);

    // Makes an attempt. Exactly one call of the owner answers it, never from
    // inside this call, unless cancel() comes first.
    void attempt();

    // Makes another attempt after a pause. False when time is up.
    bool again();

    void cancel() noexcept;

    const Request &request() const noexcept
    {
        return m_request;
    }

    // True when the last attempt found that nobody listens at the address.
    bool nobody_listens() const noexcept
    {
        return m_nobody_listens;
    }

    // `patience` after construction.
    Clock::time_point deadline() const noexcept
    {
        return m_deadline;
    }

private:
    template<class Handler>
    void guarded(Handler &&handler) noexcept;
    void report(Reason reason, const std::string &detail);
    void on_time_up();
    void on_connected(const ErrorCode &error);

    Owner &m_owner;
    LiveCounters &m_counters;
    asio::io_context &m_context;
    Request m_request;
    Clock::time_point m_deadline;
    Clock::duration m_pause;
    std::unique_ptr<Socket> m_socket; // while connecting
    asio::steady_timer m_timer; // end of the attempt, or of the pause
    bool m_cancelled      = false;
    bool m_nobody_listens = false;
};

} // namespace be::control
