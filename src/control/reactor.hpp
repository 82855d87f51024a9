// SPDX-License-Identifier: BSD-3-Clause
//
// What lives on the control thread: the fabrics of this process, its listening
// sockets, its dials and its connections. Node is its public face.
//
// All members but the few marked otherwise belong to the control thread. The
// thread holds a reference, so that the reactor outlives it.

#pragma once

#include "control/connection.hpp"
#include "control/dial.hpp"
#include "control/listener.hpp"
#include "control/sink.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

namespace be::control {

class Reactor final :
    public std::enable_shared_from_this<Reactor>,
    public Connection::Owner,
    public Dial::Owner {
public:
    Reactor();

    // Starts the thread. Throws std::system_error.
    void start();

    // Ends everything, fabrics included, and joins the thread; from inside the
    // control thread: lets it go.
    void stop();

    // As in Node, which checks the arguments.
    Address listen(const Address &ip, const ListenOptions &options);
    void attach(const Identity &identity, Sink *sink, const Settings &settings);
    void detach(std::uint64_t fabric_id);
    ConnectionId connect(std::uint64_t local_fabric, const Address &remote,
                         const Identity &remote_identity, const ConnectInfo &mine);
    void accept(ConnectionId id, const ConnectInfo &mine);
    void ready(ConnectionId id);
    void refuse(ConnectionId id, Reason reason, const std::string &text);
    void close(ConnectionId id, bool goodbye);

    // Any thread.
    Counters counters() const noexcept
    {
        return m_counters.snapshot();
    }

private:
    struct Fabric {
        LocalFabric local;
        Sink *sink = nullptr;
    };

    // reactor.cpp
    void run() noexcept;
    bool on_control_thread() const noexcept;
    void run_there(const std::function<void()> &work);
    template<class Work>
    void post(Work work);
    std::optional<LocalFabric> find_fabric(std::uint64_t fabric_id); // any thread
    void
    decide(ConnectionId id, const char *what, std::function<bool(Session &)> decision);

    // reactor_events.cpp
    void add_connection(std::shared_ptr<Connection> connection);
    void on_incoming(std::unique_ptr<Socket> socket, const Address &peer,
                     std::shared_ptr<void> half_open,
                     std::chrono::milliseconds handshake_timeout);
    void on_connected(Dial &dial, std::unique_ptr<Socket> socket) override;
    void on_dial_failed(Dial &dial, Reason reason, const std::string &detail) override;
    void on_event(Connection &connection, const SessionEvent &event) override;
    void on_gone(Connection &connection) override;
    void on_closed(Connection &connection, const SessionEvent &event);
    bool dial_again(const Connection &connection, Reason reason);
    void end_dial(ConnectionId id, Reason reason, const std::string &detail);
    void report_closed(ConnectionId id, std::uint64_t fabric_id, Reason reason,
                       const std::string &detail) noexcept;
    Sink *sink_of(std::uint64_t fabric_id) const noexcept;
    void end_fabric(std::uint64_t fabric_id, const std::shared_ptr<void> &flushed);
    void shut_down() noexcept;

    LiveCounters m_counters;
    asio::io_context m_context{1};
    asio::executor_work_guard<asio::io_context::executor_type> m_work;
    std::thread m_thread;
    std::atomic<std::thread::id> m_thread_id{};
    std::atomic<ConnectionId> m_next_id{1};

    // Changed by the control thread under the mutex, which others take to read.
    std::mutex m_fabrics_mutex;
    std::unordered_map<std::uint64_t, Fabric> m_fabrics;

    std::map<std::array<std::uint8_t, 16>, std::shared_ptr<Listener>> m_listeners;
    std::unordered_map<ConnectionId, std::shared_ptr<Dial>> m_dials;
    std::unordered_map<ConnectionId, std::shared_ptr<Connection>> m_connections;
};

} // namespace be::control
