// SPDX-License-Identifier: BSD-3-Clause
//
// What lives on the control thread: the fabrics of this process, its listening
// sockets, its dials and its connections. Node is its public face.
//
// All members but the few marked otherwise belong to the control thread, which is
// whoever has its turn. The thread holds a reference, so that the reactor outlives it.

#pragma once

#include "control/connection.hpp"
#include "control/dial.hpp"
#include "control/listener.hpp"
#include "control/sink.hpp"
#include "control/turn.hpp"
#include "control/watch.hpp"

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
    ProbeId
    probe(std::uint64_t local_fabric, const Address &remote, std::uint64_t remote_fabric);
    void accept(ConnectionId id, const ConnectInfo &mine);
    void ready(ConnectionId id);
    void recover(ConnectionId id, const RecoverInfo &mine);
    void recovered(ConnectionId id, std::uint32_t epoch);
    bool data(ConnectionId id, const DataView &data);
    void pause_reading(ConnectionId id, bool paused);
    void poll() noexcept;
    void rest() noexcept;
    void refuse(ConnectionId id, Reason reason, const std::string &text);
    void close(ConnectionId id, bool goodbye);
    void watch(int fd, std::function<void()> readable);
    void unwatch(int fd);

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
    template<class Work>
    static void guarded(Work &&work) noexcept;
    bool on_control_thread() const noexcept; // or on one that has its turn
    void run_there(const std::function<void()> &work);
    template<class Work>
    void post(Work work);
    LocalFabric attached(std::uint64_t fabric_id, const char *what); // any thread
    ConnectionId start_dial(Dial::Request request, std::chrono::milliseconds patience);
    std::shared_ptr<DataFlow> find_flow(ConnectionId id); // any thread
    bool write(ConnectionId id, const DataFrame &frame);
    std::optional<LocalFabric> find_fabric(std::uint64_t fabric_id); // any thread
    // In the order of the calls, also among data.
    void
    decide(ConnectionId id, const char *what, std::function<bool(Session &)> decision);
    void post_decision(ConnectionId id, const char *what,
                       std::function<bool(Session &)> decision);

    // reactor_events.cpp
    void add_connection(std::shared_ptr<Connection> connection);
    void on_incoming(std::unique_ptr<Socket> socket, const Address &peer,
                     std::unique_ptr<Listener::Seat> seat,
                     std::chrono::milliseconds handshake_timeout);
    void on_connected(Dial &dial, std::unique_ptr<Socket> socket) override;
    void on_dial_failed(Dial &dial, Reason reason, const std::string &detail) override;
    void on_event(Connection &connection, const SessionEvent &event) override;
    void on_gone(Connection &connection) override;
    void on_writable(Connection &connection) override;
    void open_flow(Connection &connection, std::uint64_t features);
    void close_flow(ConnectionId id);
    void turn_away(Connection &connection);
    void on_closed(Connection &connection, const SessionEvent &event);
    bool dial_again(const Connection &connection, Reason reason);
    void end_dial(ConnectionId id, Reason reason, const std::string &detail);
    void on_probe_closed(const Connection &connection, Reason reason);
    void end_probe(ProbeId id, ProbeResult result);
    template<class Call>
    void notify(std::uint64_t fabric_id, const char *what, Call &&call) noexcept;
    void report_closed(ConnectionId id, std::uint64_t fabric_id, Reason reason,
                       const std::string &detail) noexcept;
    Sink *sink_of(std::uint64_t fabric_id) const noexcept;
    void end_fabric(std::uint64_t fabric_id, const std::shared_ptr<void> &flushed);
    void shut_down() noexcept;

    LiveCounters m_counters;
    asio::io_context m_context{1};
    asio::executor_work_guard<asio::io_context::executor_type> m_work;
    std::thread m_thread;
    Turn m_turn;
    std::atomic<ConnectionId> m_next_id{1};

    // Changed by the control thread under the mutex, which others take to read.
    std::mutex m_fabrics_mutex;
    std::unordered_map<std::uint64_t, Fabric> m_fabrics;

    // Of the connections that carry data; guarded by its mutex.
    std::mutex m_flows_mutex;
    std::unordered_map<ConnectionId, std::shared_ptr<DataFlow>> m_flows;

    std::map<std::array<std::uint8_t, 16>, std::shared_ptr<Listener>> m_listeners;
    std::unordered_map<ConnectionId, std::shared_ptr<Dial>> m_dials;
    std::unordered_map<ConnectionId, std::shared_ptr<Connection>> m_connections;
    std::unordered_map<int, std::shared_ptr<Watch>> m_watches;
};

} // namespace be::control
