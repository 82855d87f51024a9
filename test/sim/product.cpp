// SPDX-License-Identifier: BSD-3-Clause

#include "product.hpp"

#include <algorithm>
#include <stdexcept>

#include "world.hpp"

namespace be::sim {

using core::Action;
using core::Actions;
using core::Notice;

core::FlowConfig Product::flow_config(const PolicyConfig &config)
{
    core::FlowConfig flow;

    flow.pool.capacity     = config.receives;
    flow.pool.max_capacity = 2 * config.receives;
    return flow;
}

Product::Product(const PolicyConfig &config, World &world, uint32_t host,
                 const std::string &trace) :
    m_config(config), m_world(world), m_host(host), m_flow(flow_config(config))
{
    if (!trace.empty()) {
        m_trace.open(trace);
        if (!m_trace) {
            throw std::runtime_error("the trace '" + trace + "' cannot be written");
        }
        write_config(m_trace, flow_config(config));
    }
}

uint64_t Product::run(Step::Call call, uint32_t peer, uint64_t value, uint64_t extra)
{
    std::array<Action, 64> storage;
    Actions actions(storage);
    Step step{call, peer, value, extra, m_world.now_ns()};
    uint64_t result = apply(m_flow, step, actions);

    if (m_trace.is_open()) {
        write_step(m_trace, step, result, actions);
    }
    if (actions.size() != 0) {
        bool more = actions.full();

        for (const Action &action : actions) {
            execute(action);
        }
        if (more) {
            run(Step::drain);
        }
    }
    return result;
}

void Product::execute(const Action &action)
{
    if (action.kind == Action::post_receives) {
        m_world.post_receives(m_host, action.value);
        run(Step::reposted, core::no_peer, action.value);
        return;
    }
    if (!m_flow.member(action.peer)) {
        return;
    }

    Link link = m_peers[action.peer].link;

    switch (action.kind) {
    case Action::answer_request:
        ++m_counters.notices;
        m_world.nic().control(link, PacketType::notice,
                              core::encode(Notice{Notice::grant, action.value}));
        run(Step::told, action.peer);
        break;
    case Action::write_cell:
        if (run(Step::cell_due, action.peer) != 0) {
            ++m_counters.cells;
            m_world.nic().control(link, PacketType::cell, run(Step::hello, action.peer));
        }
        break;
    case Action::send_request:
        ++m_counters.notices;
        m_world.nic().control(link, PacketType::notice,
                              core::encode(Notice{Notice::request, action.value}));
        break;
    case Action::resume:
        dispatch(action.peer);
        break;
    case Action::return_credit: /* nothing is ever cancelled here */
    case Action::post_receives:
        break;
    }
}

void Product::join(Link link)
{
    uint32_t peer = static_cast<uint32_t>(run(Step::join));

    if (peer == core::no_peer) {
        throw std::runtime_error("the pool of host " + std::to_string(m_host) +
                                 " takes no further peer");
    }
    m_peers.resize(std::max<std::size_t>(m_peers.size(), peer + std::size_t{1}));
    m_peers[peer]      = {};
    m_peers[peer].link = link;
    m_index[link]      = peer;
    run(Step::drain);
}

uint64_t Product::hello(Link link)
{
    return run(Step::hello, peer_of(link));
}

void Product::welcome(Link link, uint64_t hello)
{
    run(Step::cell, peer_of(link), hello);
}

void Product::leave(Link link)
{
    auto found = m_index.find(link);

    if (found != m_index.end()) {
        uint32_t peer = found->second;

        m_index.erase(found);
        m_peers[peer] = {};
        run(Step::leave, peer);
        pump_bulk();
    }
}

uint32_t Product::messages_of(int64_t bytes) const
{
    return static_cast<uint32_t>((bytes + m_config.segment - 1) / m_config.segment);
}

void Product::submit(Link link, uint32_t flow, int64_t bytes, Operation operation)
{
    uint32_t index = peer_of(link);
    Peer &peer     = m_peers[index];
    Piece piece{flow, bytes, operation};

    if (operation == Operation::send) {
        (bytes < m_config.segment ? peer.small : peer.large).push(piece);
        peer.queued += messages_of(bytes);
        dispatch(index);
    } else {
        peer.bulk.push(piece);
        run(Step::bulk_queued, index, static_cast<uint64_t>(bytes));
        pump_bulk();
    }
}

/* False when credit is lacking. */
bool Product::send_some(uint32_t index, Fifo<Piece> &queue)
{
    while (!queue.empty()) {
        Peer &peer    = m_peers[index];
        Piece &piece  = queue.front();
        int64_t bytes = std::min(piece.left, m_config.segment);

        if (run(Step::admit, index) == 0) {
            return false;
        }

        uint64_t stamp = run(Step::stamp, index);
        Message message{.link   = peer.link,
                        .flow   = piece.flow,
                        .bytes  = static_cast<uint32_t>(bytes),
                        .opcode = Opcode::send,
                        .last   = (piece.left == bytes)};

        message.tag[0] = static_cast<uint32_t>(stamp);
        message.tag[1] = static_cast<uint32_t>(stamp >> 32);
        --peer.queued;
        piece.left -= bytes;
        if (piece.left == 0) {
            queue.pop();
        }
        m_world.nic().post(message);
    }
    return true;
}

void Product::dispatch(uint32_t index)
{
    Peer &peer = m_peers[index];

    if (!send_some(index, peer.small) || !send_some(index, peer.large)) {
        run(Step::blocked, index, peer.queued);
    }
}

void Product::pump_bulk()
{
    while (uint64_t grant = run(Step::next_bulk)) {
        post_bulk(static_cast<uint32_t>(grant), grant >> 32);
    }
}

void Product::post_bulk(uint32_t index, uint64_t bytes)
{
    Peer &peer = m_peers[index];

    while (bytes != 0) {
        Piece &piece  = peer.bulk.front();
        uint32_t part = static_cast<uint32_t>(std::min<int64_t>(piece.left, bytes));
        bool last     = (piece.left == part);

        if (piece.operation == Operation::read) {
            m_world.nic().read(peer.link, piece.flow, part, last);
        } else {
            m_world.nic().post({.link   = peer.link,
                                .flow   = piece.flow,
                                .bytes  = part,
                                .opcode = Opcode::write,
                                .last   = last});
        }
        piece.left -= part;
        bytes -= part;
        if (last) {
            peer.bulk.pop();
        }
    }
}

void Product::arrived(Link link, const Message &message)
{
    auto found = m_index.find(link);

    if (found == m_index.end()) {
        return;
    }
    if (message.opcode == Opcode::read_response) {
        run(Step::bulk_done, found->second, message.bytes);
        pump_bulk();
    } else if (message.opcode == Opcode::send) {
        auto verdict = static_cast<core::Verdict>(
                run(Step::arrival, found->second, message.tag[1], message.tag[0]));

        if (verdict != core::Verdict::in_order) {
            throw Broken("a message was not taken as in order");
        }
    }
    m_counters.max_messages = std::max<uint64_t>(m_counters.max_messages,
                                                 m_flow.pool().outstanding());
}

void Product::acked(const Message &message)
{
    auto found = m_index.find(message.link);

    if ((found != m_index.end()) && (message.opcode == Opcode::write)) {
        run(Step::bulk_done, found->second, message.bytes);
        pump_bulk();
    }
}

void Product::control(Link link, const Packet &packet)
{
    auto found = m_index.find(link);

    if (found == m_index.end()) {
        return;
    }
    if (packet.type == PacketType::cell) {
        run(Step::cell, found->second, packet.value);
        return;
    }

    auto notice = core::decode_notice(static_cast<uint32_t>(packet.value));

    if (notice->kind == Notice::request) {
        run(Step::request, found->second, notice->value);
    } else {
        uint32_t total = core::Serial<core::notice_value_bits>::widen(
                m_flow.stats(found->second).credit_granted, notice->value);

        run(Step::answered, found->second, total);
    }
}

void Product::reposted()
{
    run(Step::reposted, core::no_peer, 1);
}

void Product::timer()
{
    run(Step::tick);
}

DriverCounters Product::counters() const
{
    DriverCounters counters = m_counters;
    core::FlowStats stats   = m_flow.stats();

    counters.stall_ns[0] = stats.credit_stall.ns;
    counters.stall_ns[2] = stats.window_stall.ns;
    return counters;
}

std::string Product::check() const
{
    return m_flow.check();
}

} // namespace be::sim
