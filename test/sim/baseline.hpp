// SPDX-License-Identifier: BSD-3-Clause
//
// The policies that ours is compared with: none, fixed credits, and a delay-based window.

#pragma once

#include <unordered_map>
#include <vector>

#include "driver.hpp"
#include "fifo.hpp"
#include "policy.hpp"

namespace be::sim {

class Baseline : public Driver {
public:
    Baseline(const PolicyConfig &config, World &world, uint32_t host) :
        m_config(config), m_world(world), m_host(host)
    {
    }

    void join(Link link) override;
    uint64_t hello(Link link) override;
    void welcome(Link link, uint64_t hello) override;
    void leave(Link link) override;
    void submit(Link link, uint32_t flow, int64_t bytes, Operation operation) override;
    void arrived(Link link, const Message &message) override;
    void acked(const Message &message) override;
    void control(Link link, const Packet &packet) override;
    void reposted() override;
    void timer() override;
    DriverCounters counters() const override;
    std::string check() const override;

private:
    /* As UCX's rc transports: that many messages without word from the peer, which tells
     * after a quarter of them. */
    static constexpr uint32_t fixed_window = 512;
    static constexpr uint32_t fixed_report = 128;

    /* Swift's constants: target of 2 loops, 4 KiB a loop more, at most halved. */
    static constexpr double target_loops   = 2.0;
    static constexpr double increase_bytes = 4096;
    static constexpr double decrease       = 0.8;
    static constexpr double first_window   = 65536;

    struct Piece {
        uint32_t flow;
        int64_t left;
        Operation operation;
    };

    struct Peer {
        Link link = nothing;
        Fifo<Piece> small; /* messages of less than a segment overtake */
        Fifo<Piece> bulk;
        uint32_t sent       = 0; /* messages, total */
        uint32_t reported   = 0; /* of them, by the peer as arrived */
        uint32_t arrived    = 0; /* from the peer */
        int64_t outstanding = 0; /* bytes */
        double window       = first_window;
        Time cut_at         = 0;
        Time next_send      = 0; /* pacing below one packet */
        Time delay          = 0; /* smoothed */
        bool paced          = false; /* waits for next_send */
        bool gone           = false;
    };

    Peer &peer(Link link)
    {
        return m_peers[m_index.at(link)];
    }

    void pump(Peer &peer);
    bool may_post(Peer &peer, int64_t bytes, Operation operation);
    void post_piece(Peer &peer, Fifo<Piece> &queue, int64_t bytes);
    void adapt(Peer &peer, const Message &message);

    PolicyConfig m_config;
    World &m_world;
    uint32_t m_host;
    std::vector<Peer> m_peers;
    std::unordered_map<Link, uint32_t> m_index;
    std::vector<uint32_t> m_paced; /* peers that wait for their time */
};

} // namespace be::sim
