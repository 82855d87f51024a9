// SPDX-License-Identifier: BSD-3-Clause
//
// Data that fabrics send over their connections: accounts, and the way there.

#include "control/reactor.hpp"

namespace be::control {

std::shared_ptr<DataFlow> Reactor::find_flow(ConnectionId id)
{
    std::lock_guard lock(m_flows_mutex);
    auto position = m_flows.find(id);

    return (position == m_flows.end()) ? nullptr : position->second;
}

// Before the fabric hears of the connection: it may send as soon as it is ready.
void Reactor::open_flow(Connection &connection, std::uint64_t features)
{
    if ((features & feature_tcp_path) == 0) {
        return;
    }

    auto flow = std::make_shared<DataFlow>(connection.session().max_queued_data());
    connection.set_flow(flow);
    std::lock_guard lock(m_flows_mutex);
    m_flows[connection.id()] = std::move(flow);
}

void Reactor::close_flow(ConnectionId id)
{
    std::lock_guard lock(m_flows_mutex);
    m_flows.erase(id);
}

bool Reactor::data(ConnectionId id, const DataView &data)
{
    auto flow = find_flow(id);
    if (!flow) {
        // For the warning, if it is not just over.
        decide(id, "data", [](Session &) { return false; });
        return true;
    }
    if (!flow->is_open()) {
        return false;
    }

    // Of less the copy costs less than a call of the system.
    constexpr std::size_t large = 16 * 1024;

    const DataFrame frame(data);
    if (data.payload.size() >= large && m_turn.is_lent()) {
        if (const Turn::Use turn(m_turn); turn && write(id, frame)) {
            return true;
        }
    }
    auto chunk = frame.copy();
    flow->add(chunk.size());
    auto batch = flow->join(std::move(chunk));
    if (!batch) {
        return true;
    }
    post_decision(id, "data", [this, id, flow, batch](Session &session) {
        std::size_t refused = 0;
        for (auto &frame : flow->take(batch)) {
            auto size = frame.size();
            if (!session.data(std::move(frame))) {
                refused += size;
            }
        }
        if (refused == 0) {
            return true;
        }
        auto position = m_connections.find(id);
        if (flow->drained(refused) && (position != m_connections.end())) {
            on_writable(*position->second);
        }
        return false;
    });
    return true;
}

// With the turn. False: it is not the frame's turn yet.
bool Reactor::write(ConnectionId id, const DataFrame &frame)
{
    auto position = m_connections.find(id);
    if (position == m_connections.end()) {
        return true;
    }
    auto connection = position->second;
    return connection->write_data(frame);
}

void Reactor::pause_reading(ConnectionId id, bool paused)
{
    auto act = [this, id, paused] {
        auto position = m_connections.find(id);
        if (position != m_connections.end()) {
            auto connection = position->second;
            connection->pause_reading(paused);
        }
    };

    // In a callback it takes effect at once.
    if (on_control_thread()) {
        act();
    } else {
        asio::post(m_context, act);
    }
}

void Reactor::on_writable(Connection &connection)
{
    if (auto *sink = sink_of(connection.session().local_fabric()); sink != nullptr) {
        sink->on_writable(connection.id());
    }
}

} // namespace be::control
