// SPDX-License-Identifier: BSD-3-Clause
//
// What the control thread tells a fabric, handed over to the worker's thread.
//
// The control thread pushes (Sink); the worker takes everything at once from progress(). pending() costs one
// relaxed load, so that an idle side channel costs the data path nothing. The eventfd wakes a worker that
// sleeps.

#pragma once

#include "control/sink.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace be::engine {

struct ControlEvent {
    enum class Kind {
        connect,
        accept,
        ready,
        closed
    };

    Kind kind;
    control::ConnectionId connection;
    control::ConnectInfo info; // connect, accept
    control::Reason reason = control::Reason::local; // closed
    std::string detail; // closed
};

class Inbox final : public control::Sink {
public:
    Inbox(); // throws std::system_error
    ~Inbox();
    Inbox(const Inbox &)            = delete;
    Inbox &operator=(const Inbox &) = delete;

    bool pending() const noexcept
    {
        return m_pending.load(std::memory_order_relaxed);
    }

    // Exchanges the waiting events with `out`, which must be empty; its storage is used again.
    void take(std::vector<ControlEvent> &out);

    // Readable while events wait.
    int event_fd() const noexcept
    {
        return m_fd;
    }

    void on_connect(control::ConnectionId id, const control::ConnectInfo &peer) override;
    void on_accept(control::ConnectionId id, const control::ConnectInfo &peer) override;
    void on_ready(control::ConnectionId id) override;
    void on_closed(control::ConnectionId id, control::Reason reason,
                   const std::string &detail) override;

private:
    void push(ControlEvent event);

    std::mutex m_mutex;
    std::vector<ControlEvent> m_events;
    std::atomic<bool> m_pending{false};
    int m_fd;
};

} // namespace be::engine
