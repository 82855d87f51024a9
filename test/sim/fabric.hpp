// SPDX-License-Identifier: BSD-3-Clause
//
// A two-tier leaf-spine fabric of output-queued switches with shared buffers and priority
// flow control.
//
// Each packet is stored and forwarded at every hop. A switch counts the bytes that came
// in by each port and are still in its buffer; above a threshold that shrinks as the
// buffer fills (alpha times what is free, as real switches do it) it pauses the port's
// other end, until the count has fallen two packets below. Nothing is ever dropped: the
// fabric is lossless, and pauses are the price.

#pragma once

#include <cstdint>
#include <vector>

#include "event_queue.hpp"
#include "packet.hpp"

namespace be::sim {

struct FabricConfig {
    uint32_t hosts     = 64; /* rounded up to whole leaves, two at least */
    uint32_t per_leaf  = 32;
    uint32_t spines    = 32; /* fewer than per_leaf: oversubscribed */
    double gbps        = 100; /* of every link */
    Time propagation   = microsecond; /* of one link */
    int64_t buffer     = 16 << 20; /* of one switch, bytes */
    double alpha       = 0.125;
    int64_t xoff_limit = INT64_MAX; /* static upper bound of the threshold, bytes */
};

struct FabricCounters {
    uint64_t pauses     = 0;
    Time pause_time     = 0; /* summed over ports */
    int64_t max_ingress = 0; /* most bytes counted for one port of a switch */
    int64_t max_buffer  = 0; /* most bytes in one switch */
};

/* Who sits at the hosts' ends of the fabric. */
class FabricClient {
public:
    virtual ~FabricClient() = default;

    /* The host's link is free: its next packet, or nothing. */
    virtual uint32_t next_packet(uint32_t host) = 0;

    /* A packet has arrived; the client releases it. */
    virtual void packet_arrived(uint32_t host, uint32_t packet) = 0;

    /* Any event that is not the fabric's. */
    virtual void event(const Event &event) = 0;
};

class Fabric {
public:
    /* Kinds of events; the client's start at `client`. */
    enum EventKind : uint32_t {
        arrival,
        transmitted,
        pause,
        resume,
        client
    };

    Fabric(const FabricConfig &config, FabricClient &client);

    /* Handles events up to `until`. */
    void run(Time until);

    Time now() const
    {
        return m_now;
    }

    void at(Time when, uint32_t kind, uint32_t a = 0, uint32_t b = 0)
    {
        m_events.push(when, kind, a, b);
    }

    /* The host has something to send. */
    void kick_host(uint32_t host)
    {
        kick(host);
    }

    uint32_t allocate();
    void release(uint32_t packet);

    Packet &packet(uint32_t index)
    {
        return m_packets[index];
    }

    const FabricConfig &config() const
    {
        return m_config;
    }

    FabricCounters counters() const;

    uint64_t events() const
    {
        return m_handled;
    }

    /* Picoseconds that one byte takes on a link. */
    Time byte_time() const
    {
        return m_byte_time;
    }

private:
    struct Port {
        uint32_t owner; /* host, or number of hosts + switch */
        uint32_t peer; /* likewise: the other end of the link */
        uint16_t peer_ingress; /* number of the port there */
        bool busy             = false;
        bool paused           = false;
        uint32_t head         = nothing;
        uint32_t tail         = nothing;
        Time paused_at        = 0;
        uint32_t sent_wire    = 0; /* of the packet being transmitted */
        uint16_t sent_ingress = 0;
    };

    struct Ingress {
        int64_t bytes   = 0;
        bool xoff       = false;
        uint32_t sender = nothing; /* port at the other end */
    };

    struct Switch {
        int64_t used = 0;
        std::vector<Ingress> ingress;
        std::vector<uint32_t> down; /* ports to hosts (leaf) or leaves (spine) */
        std::vector<uint32_t> up; /* ports to spines (leaf) */
    };

    void build();
    uint32_t connect(uint32_t owner, uint32_t peer, uint16_t peer_ingress);
    uint32_t route(uint32_t index, const Packet &packet) const;
    void kick(uint32_t port);
    void enqueue(uint32_t packet, uint32_t node);
    void on_transmitted(uint32_t port);
    void on_pause(uint32_t port, bool stop);
    int64_t threshold(const Switch &device) const;

    FabricConfig m_config;
    FabricClient &m_client;
    Time m_byte_time;
    Time m_now         = 0;
    uint64_t m_handled = 0;
    uint32_t m_leaves  = 0;
    EventQueue m_events;
    std::vector<Port> m_ports; /* those of the hosts first */
    std::vector<Switch> m_switches; /* leaves first */
    std::vector<Packet> m_packets;
    uint32_t m_free = nothing;
    FabricCounters m_counters;
};

} // namespace be::sim
