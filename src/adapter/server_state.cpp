// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/server_state.hpp"

#include "adapter/address.hpp"
#include "adapter/notice.hpp"
#include "adapter/random.hpp"
#include "adapter/worker.hpp"

#include <utility>

namespace be::adapter {

namespace {

constexpr std::chrono::milliseconds moment{5};
constexpr std::chrono::milliseconds to_cut{50};

} // namespace

ServerState::ServerState(std::shared_ptr<Workers> workers, const ServerOptions &options) :
    m_workers(std::move(workers)), m_options(options), m_incarnation(random_number())
{
}

void ServerState::add(Method method)
{
    const std::string name = method.name;

    if (m_started) {
        throw Error(Status::closed,
                    "method '" + name + "': methods are added before Server::start()");
    }
    if (name.empty() || (name.size() > wire::max_name)) {
        throw Error(Status::no_such_method, "method '" + name + "': a name has 1 to " +
                                                    std::to_string(wire::max_name) +
                                                    " bytes");
    }
    if (!m_methods.emplace(name, std::move(method)).second) {
        throw Error(Status::no_such_method, "method '" + name + "' was added before");
    }
}

const Method *ServerState::find(std::string_view name) const
{
    const auto at = m_methods.find(name);
    return (at == m_methods.end()) ? nullptr : &at->second;
}

void ServerState::start()
{
    const Address address = parse_address(m_options.address, "ServerOptions::address");
    Worker &worker        = m_workers->at(0); // they all have the same loop and secret

    if (m_started.exchange(true)) {
        throw Error(Status::closed, "the server was started before");
    }
    exchange::Service service{
            worker.secret(), m_options.handshake_timeout, m_options.max_half_open,
            [weak = weak_from_this()](const std::shared_ptr<exchange::Guest> &guest,
                                      exchange::Joining joining) {
                if (const auto self = weak.lock()) {
                    self->join(guest, std::move(joining));
                } else {
                    guest->close("the server is closed");
                }
            }};
    m_acceptor = std::make_shared<exchange::Acceptor>(worker.loop(), address,
                                                      std::move(service));
    m_acceptor->start();
}

std::string ServerState::address() const
{
    return (m_acceptor == nullptr) ? std::string() : m_acceptor->address();
}

// On the loop's thread.
void ServerState::join(const std::shared_ptr<exchange::Guest> &guest,
                       exchange::Joining joining)
{
    std::shared_ptr<ServerConnection> connection;
    std::string refusal;

    if (joining.again) {
        connection = guest->connection.lock();
        refusal    = "the connection is closed";
    } else if (m_draining) {
        refusal = "the server is draining";
    } else {
        std::lock_guard lock(m_mutex);
        if (m_connections.size() < m_options.max_connections) {
            const auto turn = m_turn.fetch_add(1, std::memory_order_relaxed);
            Worker &worker  = m_workers->at(turn % m_workers->size());
            connection = std::make_shared<ServerConnection>(worker, shared_from_this());
            connection->link = guest;
            m_connections.insert(connection);
        } else {
            refusal = "max_connections of " + std::to_string(m_options.max_connections) +
                      " reached";
        }
    }
    if (connection == nullptr) {
        guest->close(refusal);
        return;
    }
    Worker &worker = connection->worker();
    if (!joining.again) {
        guest->connection = connection;
        guest->set_down(worker.link_down(connection));
    }
    worker.hand_over(
            [self = shared_from_this(), connection, guest, joining = std::move(joining)] {
                self->attach(connection, guest, joining);
            });
}

// Under the lock of its worker.
void ServerState::attach(const std::shared_ptr<ServerConnection> &connection,
                         const std::shared_ptr<exchange::Guest> &guest,
                         const exchange::Joining &joining)
{
    Worker &worker = connection->worker();

    if (!joining.again) {
        worker.serve(1);
        if (!worker.enroll(connection)) {
            closed(*connection);
            guest->close("the server is closed");
            return;
        }
        counters.accepted.fetch_add(1, std::memory_order_relaxed);
    }
    if (m_draining) {
        worker.fail(*connection, "the server is draining");
    } else {
        connection->join(guest, joining);
    }
}

void ServerState::closed(ServerConnection &connection)
{
    connection.worker().serve(-1);
    std::lock_guard lock(m_mutex);
    m_connections.erase(
            std::static_pointer_cast<ServerConnection>(connection.shared_from_this()));
    m_changed.notify_all();
}

Status ServerState::admit() noexcept
{
    // Counted first: drain() must not see 0 between the look and the count.
    const size_t before = m_active.fetch_add(1);
    if (!m_draining && (before < m_options.max_requests)) {
        return Status::ok;
    }
    const Status status = m_draining ? Status::draining : Status::overloaded;
    finished_one();
    return status;
}

void ServerState::finished_one() noexcept
{
    if ((m_active.fetch_sub(1) == 1) && m_draining) {
        std::lock_guard lock(m_mutex);
        m_changed.notify_all();
    }
}

void ServerState::note_exception(const std::string &, const char *) noexcept
{
    counters.exceptions.fetch_add(1, std::memory_order_relaxed);
}

std::set<std::shared_ptr<ServerConnection>> ServerState::connections() const
{
    std::lock_guard lock(m_mutex);
    return m_connections;
}

bool ServerState::drain(std::chrono::milliseconds limit)
{
    const Clock::time_point until = Clock::now() + limit;

    if (m_draining.exchange(true)) {
        return true;
    }
    if (m_acceptor != nullptr) {
        m_acceptor->stop();
    }
    for (const auto &connection : connections()) {
        connection->worker().post([connection] {
            send_notice(*connection, {.kind = wire::Kind::goodbye});
        });
    }
    // Channels close by themselves when they have what they wait for. So no request is on
    // its way to a connection that is closed, as far as they answer in time.
    const bool idle = wait_until(until, [this] { return m_active == 0; });
    wait_until(until, [this] { return m_connections.empty(); });
    for (const auto &connection : connections()) {
        connection->worker().post([connection, idle] {
            if (idle) {
                connection->worker().close(*connection);
            } else {
                connection->worker().fail(*connection, "draining takes too long");
            }
        });
    }
    wait_until(Clock::now() + to_cut, [this] { return m_connections.empty(); });
    return idle;
}

// A thread of the runtime may be in a handler that takes its time: progress is made for it.
bool ServerState::wait_until(Clock::time_point until,
                             const std::function<bool()> &reached)
{
    for (;;) {
        for (size_t i = 0; i < m_workers->size(); i++) {
            while (m_workers->at(i).help()) {
            }
        }
        std::unique_lock lock(m_mutex);
        if (m_changed.wait_for(lock, moment, reached)) {
            return true;
        }
        if (Clock::now() >= until) {
            return false;
        }
    }
}

ServerStats ServerState::stats() const noexcept
{
    ServerStats stats;
    stats.requests   = counters.requests;
    stats.overloaded = counters.overloaded;
    stats.late       = counters.late;
    stats.canceled   = counters.canceled;
    stats.accepted   = counters.accepted;
    stats.active     = m_active;
    std::lock_guard lock(m_mutex);
    stats.connections = m_connections.size();
    return stats;
}

} // namespace be::adapter
