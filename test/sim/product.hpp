// SPDX-License-Identifier: BSD-3-Clause
//
// Our policy: drives be::core::Flow as the engine does.

#pragma once

#include <array>
#include <fstream>
#include <unordered_map>
#include <vector>

#include "core/flow.hpp"
#include "driver.hpp"
#include "fifo.hpp"
#include "flow_step.hpp"
#include "policy.hpp"

namespace be::sim {

class Product : public Driver {
public:
    Product(const PolicyConfig &config, World &world, uint32_t host,
            const std::string &trace);

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
    struct Piece {
        uint32_t flow;
        int64_t left;
        Operation operation;
    };

    struct Peer {
        Link link = nothing;
        Fifo<Piece> small; /* messages that fit one segment may overtake */
        Fifo<Piece> large;
        Fifo<Piece> bulk[2]; /* by core::BulkKind */
        uint32_t large_messages = 0; /* in `large` */
        uint64_t large_charge   = 0; /* of them, bytes */
    };

    static core::FlowConfig flow_config(const PolicyConfig &config);

    /* Carries out a step and all that follows from it. */
    uint64_t run(Step::Call call, uint32_t peer = core::no_peer, uint64_t value = 0,
                 uint64_t extra = 0);
    void execute(const core::Action &action);

    void dispatch(uint32_t peer);
    bool send_some(uint32_t peer, Fifo<Piece> &queue);
    void pump_bulk();
    void post_bulk(const core::BulkGrant &grant);
    void arm_timer();
    uint64_t segment_charge(const Piece &piece) const;
    void count_large(Peer &peer, int64_t bytes);
    void on_notice(uint32_t peer, const core::Notice &notice);

    uint32_t peer_of(Link link) const
    {
        return m_index.at(link);
    }

    PolicyConfig m_config;
    World &m_world;
    uint32_t m_host;
    core::Flow m_flow;
    std::ofstream m_trace;
    std::vector<Peer> m_peers; /* by index in the flow */
    std::unordered_map<Link, uint32_t> m_index;
    DriverCounters m_counters;
};

} // namespace be::sim
