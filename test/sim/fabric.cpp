// SPDX-License-Identifier: BSD-3-Clause

#include "fabric.hpp"

#include <algorithm>

namespace be::sim {

Fabric::Fabric(const FabricConfig &config, FabricClient &client) :
    m_config(config),
    m_client(client),
    m_byte_time(static_cast<Time>(8 * nanosecond / config.gbps))
{
    m_leaves       = std::max(2u, (config.hosts + config.per_leaf - 1) / config.per_leaf);
    m_config.hosts = m_leaves * config.per_leaf;
    build();
}

uint32_t Fabric::connect(uint32_t owner, uint32_t peer, uint16_t peer_ingress)
{
    uint32_t port = static_cast<uint32_t>(m_ports.size());

    m_ports.push_back({.owner = owner, .peer = peer, .peer_ingress = peer_ingress});
    if (peer >= m_config.hosts) {
        m_switches[peer - m_config.hosts].ingress[peer_ingress].sender = port;
    }
    return port;
}

void Fabric::build()
{
    uint32_t hosts = m_config.hosts, per_leaf = m_config.per_leaf;

    m_switches.resize(m_leaves + m_config.spines);
    for (Switch &device : m_switches) {
        device.ingress.resize(std::max(per_leaf + m_config.spines, m_leaves));
    }
    for (uint32_t host = 0; host < hosts; ++host) {
        connect(host, hosts + host / per_leaf, static_cast<uint16_t>(host % per_leaf));
    }
    for (uint32_t leaf = 0; leaf < m_leaves; ++leaf) {
        for (uint32_t i = 0; i < per_leaf; ++i) {
            m_switches[leaf].down.push_back(
                    connect(hosts + leaf, leaf * per_leaf + i, 0));
        }
        for (uint32_t spine = 0; spine < m_config.spines; ++spine) {
            uint32_t index = m_leaves + spine;

            m_switches[leaf].up.push_back(
                    connect(hosts + leaf, hosts + index, static_cast<uint16_t>(leaf)));
            m_switches[index].down.push_back(
                    connect(hosts + index, hosts + leaf,
                            static_cast<uint16_t>(per_leaf + spine)));
        }
    }
}

uint32_t Fabric::allocate()
{
    if (m_free == nothing) {
        m_packets.emplace_back();
        return static_cast<uint32_t>(m_packets.size() - 1);
    }

    uint32_t index = m_free;

    m_free           = m_packets[index].next;
    m_packets[index] = Packet{};
    return index;
}

void Fabric::release(uint32_t index)
{
    m_packets[index].next = m_free;
    m_free                = index;
}

uint32_t Fabric::route(uint32_t index, const Packet &packet) const
{
    uint32_t leaf = packet.to / m_config.per_leaf;

    if (index >= m_leaves) {
        return m_switches[index].down[leaf];
    }
    return (index == leaf) ? m_switches[index].down[packet.to % m_config.per_leaf] :
                             m_switches[index].up[packet.spine];
}

void Fabric::kick(uint32_t index)
{
    Port &port = m_ports[index];
    uint32_t k;

    if (port.busy || port.paused) {
        return;
    }
    if (index < m_config.hosts) {
        k = m_client.next_packet(index);
        if (k == nothing) {
            return;
        }
    } else {
        k = port.head;
        if (k == nothing) {
            return;
        }
        port.head = m_packets[k].next;
        if (port.head == nothing) {
            port.tail = nothing;
        }
    }

    Packet &packet = m_packets[k];
    Time duration  = packet.wire * m_byte_time;

    port.busy         = true;
    port.sent_wire    = packet.wire;
    port.sent_ingress = packet.ingress;
    packet.ingress    = port.peer_ingress;
    m_events.push(m_now + duration, transmitted, index, 0);
    m_events.push(m_now + duration + m_config.propagation, arrival, k, port.peer);
}

int64_t Fabric::threshold(const Switch &device) const
{
    return std::min(m_config.xoff_limit,
                    static_cast<int64_t>(
                            m_config.alpha *
                            static_cast<double>(m_config.buffer - device.used)));
}

void Fabric::enqueue(uint32_t k, uint32_t node)
{
    Packet &packet   = m_packets[k];
    uint32_t index   = node - m_config.hosts;
    Switch &device   = m_switches[index];
    Ingress &ingress = device.ingress[packet.ingress];
    uint32_t out     = route(index, packet);
    Port &port       = m_ports[out];

    device.used += packet.wire;
    ingress.bytes += packet.wire;
    m_counters.max_buffer  = std::max(m_counters.max_buffer, device.used);
    m_counters.max_ingress = std::max(m_counters.max_ingress, ingress.bytes);
    if (!ingress.xoff && (ingress.bytes > threshold(device))) {
        ingress.xoff = true;
        ++m_counters.pauses;
        m_events.push(m_now + m_config.propagation, pause, ingress.sender, 0);
    }

    packet.next                                                    = nothing;
    (port.head == nothing ? port.head : m_packets[port.tail].next) = k;
    port.tail                                                      = k;
    kick(out);
}

void Fabric::on_transmitted(uint32_t index)
{
    Port &port = m_ports[index];

    port.busy = false;
    if (index >= m_config.hosts) {
        Switch &device   = m_switches[port.owner - m_config.hosts];
        Ingress &ingress = device.ingress[port.sent_ingress];

        device.used -= port.sent_wire;
        ingress.bytes -= port.sent_wire;
        if (ingress.xoff &&
            (ingress.bytes <= std::max<int64_t>(0, threshold(device) - 2 * mtu))) {
            ingress.xoff = false;
            m_events.push(m_now + m_config.propagation, resume, ingress.sender, 0);
        }
    }
    kick(index);
}

void Fabric::on_pause(uint32_t index, bool stop)
{
    Port &port = m_ports[index];

    if (stop && !port.paused) {
        port.paused_at = m_now;
    } else if (!stop && port.paused) {
        m_counters.pause_time += m_now - port.paused_at;
    }
    port.paused = stop;
    kick(index);
}

void Fabric::run(Time until)
{
    while (!m_events.empty() && (m_events.next_time() <= until)) {
        Event event = m_events.pop();

        m_now = event.at;
        ++m_handled;
        switch (event.kind) {
        case arrival:
            if (event.b < m_config.hosts) {
                m_client.packet_arrived(event.b, event.a);
            } else {
                enqueue(event.a, event.b);
            }
            break;
        case transmitted:
            on_transmitted(event.a);
            break;
        case pause:
        case resume:
            on_pause(event.a, event.kind == pause);
            break;
        default:
            m_client.event(event);
        }
    }
    m_now = until;
}

FabricCounters Fabric::counters() const
{
    FabricCounters counters = m_counters;

    for (const Port &port : m_ports) {
        if (port.paused) {
            counters.pause_time += m_now - port.paused_at;
        }
    }
    return counters;
}

} // namespace be::sim
