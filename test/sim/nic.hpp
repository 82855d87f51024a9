// SPDX-License-Identifier: BSD-3-Clause
//
// The hosts' network cards: reliable queue pairs over the fabric.
//
// Each link (end of a connection) has a queue pair for messages and one for bulk. Queue
// pairs that have something to send take turns, packet by packet; acks, cells and notices
// go first. A message is acknowledged when its last packet has arrived. A SEND that finds
// no receive posted is answered by a receiver-not-ready NAK: the sender goes back and
// tries again after a while. READs are served without software.

#pragma once

#include <cstdint>
#include <vector>

#include "fabric.hpp"
#include "fifo.hpp"
#include "packet.hpp"

namespace be::sim {

struct NicConfig {
    Time rnr_delay      = 100 * microsecond;
    bool messages_first = false; /* message queue pairs on a service level of their own */
};

class NicClient {
public:
    virtual ~NicClient() = default;

    /* The last packet of a message arrived; it stays valid until message_consumed(). */
    virtual void message_arrived(uint32_t host, uint32_t message) = 0;

    /* The sender's NIC heard that this message arrived; it is released afterwards. */
    virtual void message_acked(uint32_t host, const Message &message) = 0;

    /* An immediate, a cell or a baseline's packet; copied. */
    virtual void control_arrived(uint32_t host, const Packet &packet) = 0;

    /* Events from Nic::client on. */
    virtual void event(const Event &event) = 0;
};

class Nic : private FabricClient {
public:
    enum EventKind : uint32_t {
        retry = Fabric::client,
        client
    };

    Nic(const FabricConfig &fabric, const NicConfig &config, NicClient &client);

    /* Two queue pairs for a new link from one host to another. Links come in pairs. */
    void add_link(uint32_t from, uint32_t to);

    /* All of the connection takes this path through the core. */
    void set_spine(Link link, uint16_t spine);

    void post(const Message &message);

    /* `opcode` write or read_response goes on the bulk queue pair. */
    void control(Link link, PacketType type, uint64_t value, uint64_t extra = 0);

    /* Asks the other end for `bytes`. */
    void read(Link link, uint32_t flow, uint32_t bytes, bool last);

    /* Receives posted at the host. */
    void add_receives(uint32_t host, int64_t count)
    {
        m_hosts[host].receives += count;
    }

    void kill(uint32_t host)
    {
        m_hosts[host].dead = true;
    }

    bool dead(uint32_t host) const
    {
        return m_hosts[host].dead;
    }

    Message &message(uint32_t index)
    {
        return m_messages[index];
    }

    /* Who is at the other end of this link. */
    uint32_t destination(Link link) const
    {
        return m_pairs[2 * link].to;
    }

    uint64_t rnr_naks() const
    {
        return m_rnr_naks;
    }

    Fabric &fabric()
    {
        return m_fabric;
    }

    const Fabric &fabric() const
    {
        return m_fabric;
    }

private:
    struct Pair {
        uint32_t from     = 0;
        uint32_t to       = 0;
        uint16_t spine    = 0;
        bool in_turn      = false; /* waits in the NIC's round */
        bool accepting    = false; /* receiver: within a message that has a receive */
        uint32_t next     = 0; /* index in `messages` of the one being sent */
        uint32_t offset   = 0; /* bytes of it that were sent */
        uint32_t numbered = 0;
        uint32_t expected = 0; /* receiver: number of the message */
        Time hold         = 0; /* not before, after a NAK */
        Fifo<uint32_t> messages; /* not acknowledged */
    };

    struct Host {
        Fifo<uint32_t> control; /* packets */
        Fifo<uint32_t> turns; /* queue pairs */
        Fifo<uint32_t> first_turns; /* those that go first */
        int64_t receives = 0;
        bool dead        = false;
    };

    uint32_t next_packet(uint32_t host) override;
    void packet_arrived(uint32_t host, uint32_t packet) override;
    void event(const Event &event) override;

    Fifo<uint32_t> &turns(uint32_t pair);
    void take_turn(uint32_t pair);
    uint32_t next_data(uint32_t pair_index);
    void data_arrived(uint32_t host, const Packet &packet);
    void ack_arrived(uint32_t host, const Packet &packet);
    void nak_arrived(const Packet &packet);
    void answer(const Packet &packet, PacketType type, uint64_t value);
    void send_control(uint32_t from, uint32_t to, uint32_t pair, const Packet &what);

    NicConfig m_config;
    NicClient &m_client;
    Fabric m_fabric;
    std::vector<Host> m_hosts;
    std::vector<Pair> m_pairs;
    std::vector<Message> m_messages;
    std::vector<uint32_t> m_free_messages;
    uint64_t m_rnr_naks = 0;
};

} // namespace be::sim
