// SPDX-License-Identifier: BSD-3-Clause
//
// A server: its methods, its listener and its connections.
#pragma once

#include "adapter/exchange/acceptor.hpp"
#include "adapter/request_state.hpp"
#include "adapter/runtime_workers.hpp"
#include "adapter/server_connection.hpp"

#include <byteexpress/server.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace be::adapter {

struct ServerCounters {
    std::atomic<uint64_t> requests   = 0;
    std::atomic<uint64_t> overloaded = 0;
    std::atomic<uint64_t> late       = 0;
    std::atomic<uint64_t> canceled   = 0;
    std::atomic<uint64_t> accepted   = 0;
    std::atomic<uint64_t> exceptions = 0;
};

class ServerState : public std::enable_shared_from_this<ServerState> {
public:
    ServerState(std::shared_ptr<Workers> workers, const ServerOptions &options);

    const ServerOptions &options() const noexcept
    {
        return m_options;
    }
    uint64_t incarnation() const noexcept
    {
        return m_incarnation;
    }

    void add(Method method);
    void start();
    std::string address() const;
    bool drain(std::chrono::milliseconds limit);
    ServerStats stats() const noexcept;

    // Any thread.

    const Method *find(std::string_view name) const;
    Status admit() noexcept; // ok: counts as active until finished_one()
    void finished_one() noexcept;
    void closed(ServerConnection &connection);
    void note_exception(const std::string &method, const char *what) noexcept;

    ServerCounters counters;

private:
    void join(const std::shared_ptr<exchange::Guest> &guest, exchange::Joining joining);
    void attach(const std::shared_ptr<ServerConnection> &connection,
                const std::shared_ptr<exchange::Guest> &guest,
                const exchange::Joining &joining);
    bool wait_until(Clock::time_point until, const std::function<bool()> &reached);
    std::set<std::shared_ptr<ServerConnection>> connections() const;

    const std::shared_ptr<Workers> m_workers;
    const ServerOptions m_options;
    const uint64_t m_incarnation;
    std::map<std::string, Method, std::less<>> m_methods; // fixed once started
    std::shared_ptr<exchange::Acceptor> m_acceptor; // once started
    std::atomic<bool> m_started  = false;
    std::atomic<bool> m_draining = false;
    std::atomic<size_t> m_active = 0;
    std::atomic<unsigned> m_turn = 0;

    mutable std::mutex m_mutex;
    std::condition_variable m_changed; // m_active fell to 0, or a connection was closed
    std::set<std::shared_ptr<ServerConnection>> m_connections;
};

} // namespace be::adapter
