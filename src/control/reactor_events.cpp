// SPDX-License-Identifier: BSD-3-Clause
//
// What happens on the control thread: connections come, say something, and end.

#include "control/hex.hpp"
#include "control/logger.hpp"
#include "control/reactor.hpp"

#include <exception>
#include <vector>

namespace be::control {

namespace {

std::string describe(const Address &address, std::uint64_t fabric_id)
{
    auto text = "peer " + address.to_string();

    if (fabric_id != 0) {
        text += " (fabric " + hex(fabric_id) + ")";
    }
    return text;
}

// What a server under load, or one that has run out of patience with a slow
// machine, does to a client.
bool worth_another_attempt(Reason reason)
{
    return (reason == Reason::closed_by_peer) || (reason == Reason::resources) ||
           (reason == Reason::timeout);
}

} // namespace

void Reactor::add_connection(std::shared_ptr<Connection> connection)
{
    m_connections[connection->id()] = connection;
    connection->start();
}

void Reactor::on_incoming(std::unique_ptr<Socket> socket, const Address &peer,
                          std::unique_ptr<Listener::Seat> seat,
                          std::chrono::milliseconds handshake_timeout)
{
    auto now     = Session::Clock::now();
    auto session = Session::server([this](std::uint64_t id) { return find_fabric(id); },
                                   random_nonce(), now, now + handshake_timeout);
    auto id      = m_next_id.fetch_add(1, std::memory_order_relaxed);

    add_connection(std::make_shared<Connection>(*this, m_counters, m_context,
                                                std::move(socket), std::move(session), id,
                                                describe(peer, 0), std::move(seat)));
}

void Reactor::on_connected(Dial &dial, std::unique_ptr<Socket> socket)
{
    const auto &request = dial.request();
    auto now            = Session::Clock::now();
    auto session        = request.probe ?
                                  Session::prober(request.local, request.remote.fabric_id, now,
                                                  dial.deadline()) :
                                  Session::client(request.local, request.remote, request.mine,
                                                  random_nonce(), now, dial.deadline());
    auto connection     = std::make_shared<Connection>(
            *this, m_counters, m_context, std::move(socket), std::move(session),
            request.id, describe(request.address, request.remote.fabric_id), nullptr);

    connection->announce();
    add_connection(std::move(connection));
}

void Reactor::on_dial_failed(Dial &dial, Reason reason, const std::string &detail)
{
    const auto &request = dial.request();
    if (request.probe) {
        end_probe(request.id,
                  dial.nobody_listens() ? ProbeResult::gone : ProbeResult::unknown);
        return;
    }
    end_dial(request.id, reason,
             describe(request.address, request.remote.fabric_id) + ": " + detail);
}

void Reactor::end_dial(ConnectionId id, Reason reason, const std::string &detail)
{
    auto position = m_dials.find(id);
    if (position == m_dials.end()) {
        return;
    }

    auto dial = std::move(position->second);
    m_dials.erase(position);
    dial->cancel();
    report_closed(id, dial->request().local.identity.fabric_id, reason, detail);
}

void Reactor::on_event(Connection &connection, const SessionEvent &event)
{
    auto id    = connection.id();
    auto *sink = sink_of(connection.session().local_fabric());

    switch (event.kind) {
    case SessionEvent::Kind::authenticated:
        LiveCounters::add(m_counters.authenticated);
        connection.judge(true);
        m_dials.erase(id);
        break;
    case SessionEvent::Kind::connect:
        if (!connection.announce()) {
            turn_away(connection);
        } else if (sink != nullptr) {
            open_flow(connection, event.info.features);
            sink->on_connect(id, event.info);
        }
        break;
    case SessionEvent::Kind::accept:
        if (sink != nullptr) {
            open_flow(connection, event.info.features);
            sink->on_accept(id, event.info);
        }
        break;
    case SessionEvent::Kind::ready:
        if (sink != nullptr) {
            sink->on_ready(id);
        }
        break;
    case SessionEvent::Kind::recover:
        if (sink != nullptr) {
            sink->on_recover(id, event.recover);
        }
        break;
    case SessionEvent::Kind::recovered:
        if (sink != nullptr) {
            sink->on_recovered(id, event.recover.epoch);
        }
        break;
    case SessionEvent::Kind::data:
        if (sink != nullptr) {
            sink->on_data(id, event.data, connection.memory());
        }
        break;
    case SessionEvent::Kind::probed:
        end_probe(id, event.probe);
        break;
    case SessionEvent::Kind::closed:
        on_closed(connection, event);
        break;
    }
}

void Reactor::turn_away(Connection &connection)
{
    LiveCounters::add(m_counters.over_limit);
    connection.act([](Session &session) {
        session.turn_away(Reason::resources,
                          "as many connections as the listener allows are established");
    });
}

void Reactor::on_closed(Connection &connection, const SessionEvent &event)
{
    auto detail = connection.peer() + ": " + event.detail;

    if (connection.session().clogged()) {
        LiveCounters::add(m_counters.slow_readers);
    }

    if (connection.session().is_probe()) {
        on_probe_closed(connection, event.reason);
        return;
    }
    if ((event.reason == Reason::authentication) &&
        !connection.session().authenticated()) {
        connection.judge(false);
    }
    if (!connection.announced()) {
        LiveCounters::add(m_counters.rejected[static_cast<std::size_t>(event.reason)]);
        log_limited((event.reason == Reason::closed_by_peer) ? Level::info :
                                                               Level::warning,
                    std::string("connection rejected (") + to_string(event.reason) +
                            "): " + detail);
        return;
    }

    if (dial_again(connection, event.reason)) {
        return;
    }

    m_dials.erase(connection.id());
    close_flow(connection.id());
    report_closed(connection.id(), connection.session().local_fabric(), event.reason,
                  detail);
}

// Of a probe's connection: this side asked and has or has not been answered, or
// it answered.
void Reactor::on_probe_closed(const Connection &connection, Reason reason)
{
    if (!connection.announced()) {
        LiveCounters::add(m_counters.probes_answered);
    } else if (!dial_again(connection, reason)) {
        end_probe(connection.id(), ProbeResult::unknown);
    }
}

void Reactor::end_probe(ProbeId id, ProbeResult result)
{
    auto position = m_dials.find(id);
    if (position == m_dials.end()) {
        return; // answered already
    }

    auto dial = std::move(position->second);
    m_dials.erase(position);
    dial->cancel();
    notify(dial->request().local.identity.fabric_id, "on_probed",
           [&](Sink &sink) { sink.on_probed(id, result); });
}

// True when the connection has a dial, which means that it has not been
// authenticated, and the dial makes another attempt.
bool Reactor::dial_again(const Connection &connection, Reason reason)
{
    auto position = m_dials.find(connection.id());
    return (position != m_dials.end()) && worth_another_attempt(reason) &&
           position->second->again();
}

void Reactor::report_closed(ConnectionId id, std::uint64_t fabric_id, Reason reason,
                            const std::string &detail) noexcept
{
    LiveCounters::add(m_counters.closed[static_cast<std::size_t>(reason)]);
    notify(fabric_id, "on_closed",
           [&](Sink &sink) { sink.on_closed(id, reason, detail); });
}

// A callback without a connection that what it throws could end.
template<class Call>
void Reactor::notify(std::uint64_t fabric_id, const char *what, Call &&call) noexcept
{
    try {
        if (auto *sink = sink_of(fabric_id); sink != nullptr) {
            call(*sink);
        }
    } catch (const std::exception &error) {
        log(Level::error, std::string(what) + "() threw: " + error.what());
    } catch (...) {
        log(Level::error, std::string(what) + "() threw");
    }
}

void Reactor::on_gone(Connection &connection)
{
    // A further attempt may have taken over the id already.
    auto position = m_connections.find(connection.id());
    if ((position != m_connections.end()) && (position->second.get() == &connection)) {
        m_connections.erase(position);
    }
}

// The control thread alone changes m_fabrics: it reads without the mutex.
Sink *Reactor::sink_of(std::uint64_t fabric_id) const noexcept
{
    auto position = m_fabrics.find(fabric_id);
    return (position == m_fabrics.end()) ? nullptr : position->second.sink;
}

void Reactor::end_fabric(std::uint64_t fabric_id, const std::shared_ptr<void> &flushed)
{
    {
        std::lock_guard lock(m_fabrics_mutex);
        m_fabrics.erase(fabric_id);
    }

    std::erase_if(m_dials, [&](const auto &entry) {
        if (entry.second->request().local.identity.fabric_id != fabric_id) {
            return false;
        }
        entry.second->cancel();
        return true;
    });

    // A copy, because connections leave m_connections as they end.
    std::vector<std::shared_ptr<Connection>> affected;
    for (const auto &[id, connection] : m_connections) {
        if (connection->session().local_fabric() == fabric_id) {
            affected.push_back(connection);
        }
    }
    for (const auto &connection : affected) {
        connection->act([](Session &session) { session.close(true, "fabric detached"); });
        connection->hold_until_flushed(flushed);
    }
}

void Reactor::shut_down() noexcept
{
    for (auto &[ip, listener] : m_listeners) {
        listener->stop();
    }
    m_listeners.clear();
    for (auto &[id, dial] : m_dials) {
        dial->cancel();
    }
    m_dials.clear();
    for (auto &[fd, watch] : m_watches) {
        watch->cancel();
    }
    m_watches.clear();
    while (!m_connections.empty()) {
        auto connection = m_connections.begin()->second;
        connection->abort();
    }
}

} // namespace be::control
