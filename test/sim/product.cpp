// SPDX-License-Identifier: BSD-3-Clause

#include "product.hpp"

#include <algorithm>
#include <stdexcept>

#include "world.hpp"

namespace be::sim {

using core::Action;
using core::Actions;
using core::Notice;

namespace {

constexpr uint32_t small_message = core::FlowConfig{}.small_message;

} // namespace

core::FlowConfig Product::flow_config(const PolicyConfig &config)
{
    core::FlowConfig flow;

    flow.pool.capacity     = config.receives;
    flow.pool.max_capacity = 2 * config.receives;
    flow.pool.revoke       = true;
    flow.bytes             = core::BytePoolConfig::derive(config.gbps,
                                                          static_cast<uint64_t>(config.loop /
                                                                    nanosecond));

    uint64_t path = static_cast<uint64_t>(config.path_bytes());

    flow.window = {.port    = path * 3 / 2,
                   .peer    = path * 3 / 2,
                   .quantum = flow.bytes.quantum * flow.bytes.unit};
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
    arm_timer();
    return result;
}

void Product::execute(const Action &action)
{
    if (action.kind == Action::post_receives) {
        m_world.post_receives(m_host, action.value);
        run(Step::reposted, core::no_peer, action.value);
        return;
    }
    if (action.kind == Action::pump_bulk) {
        pump_bulk();
        return;
    }
    if (!m_flow.member(action.peer)) {
        return;
    }

    Link link = m_peers[action.peer].link;

    auto notify = [&](Notice::Kind kind) {
        ++m_counters.notices;
        m_world.nic().control(link, PacketType::notice,
                              core::encode(Notice{kind, action.value}));
    };

    switch (action.kind) {
    case Action::answer_request:
        notify(Notice::grant);
        run(Step::told, action.peer);
        break;
    case Action::write_cell:
        if (run(Step::cell_due, action.peer) != 0) {
            ++m_counters.cells;
            m_world.nic().control(link, PacketType::cell, run(Step::hello, action.peer));
        }
        break;
    case Action::send_request:
        notify(Notice::request);
        break;
    case Action::send_byte_request:
        notify(Notice::byte_request);
        break;
    case Action::send_revoke:
        ++m_counters.revokes;
        notify(Notice::revoke);
        break;
    case Action::send_byte_revoke:
        ++m_counters.revokes;
        notify(Notice::byte_revoke);
        break;
    case Action::send_return:
        notify(Notice::give_back);
        break;
    case Action::send_byte_return:
        notify(Notice::byte_return);
        break;
    case Action::send_wake:
        notify(Notice::wake);
        break;
    case Action::send_woken:
        notify(Notice::woken);
        break;
    case Action::suspect:
        ++m_counters.suspects;
        m_world.give_up(link);
        break;
    case Action::resume:
        dispatch(action.peer);
        break;
    case Action::return_credit: /* nothing is ever cancelled here */
    case Action::post_receives:
    case Action::pump_bulk:
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

/* Of its next message. */
uint64_t Product::segment_charge(const Piece &piece) const
{
    return m_flow.charge(static_cast<uint64_t>(std::min(piece.left, m_config.segment)));
}

void Product::count_large(Peer &peer, int64_t bytes)
{
    for (; bytes > 0; bytes -= m_config.segment) {
        ++peer.large_messages;
        peer.large_charge += m_flow.charge(
                static_cast<uint64_t>(std::min(bytes, m_config.segment)));
    }
}

void Product::submit(Link link, uint32_t flow, int64_t bytes, Operation operation)
{
    uint32_t index = peer_of(link);
    Peer &peer     = m_peers[index];
    Piece piece{flow, bytes, operation};

    if (operation == Operation::send) {
        if (bytes <= small_message) {
            peer.small.push(piece);
        } else {
            peer.large.push(piece);
            count_large(peer, bytes);
        }
        dispatch(index);
    } else {
        unsigned kind = (operation == Operation::read);

        peer.bulk[kind].push(piece);
        run(Step::bulk_queued, index, m_flow.charge(static_cast<uint64_t>(bytes)), kind);
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

        if (run(Step::admit, index, static_cast<uint64_t>(bytes)) == 0) {
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
        if (&queue == &peer.large) {
            --peer.large_messages;
            peer.large_charge -= segment_charge(piece);
        }
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
    bool done  = send_some(index, peer.small);

    done &= send_some(index, peer.large);
    if (!done) {
        uint64_t first = peer.large.empty() ? 0 : segment_charge(peer.large.front());

        run(Step::blocked, index,
            peer.small.size() | (uint64_t{peer.large_messages} << 32),
            first | (peer.large_charge << 32));
    }
    run(Step::drain);
    pump_bulk();
}

void Product::pump_bulk()
{
    bool posted = false;

    while (uint64_t grant = run(Step::next_bulk)) {
        uint32_t channel = static_cast<uint32_t>(grant >> 32);

        post_bulk({.peer  = channel / 2,
                   .bytes = static_cast<uint32_t>(grant),
                   .kind  = static_cast<core::BulkKind>(channel % 2)});
        posted = true;
    }
    if (posted) {
        run(Step::drain);
    }
}

void Product::post_bulk(const core::BulkGrant &grant)
{
    Peer &peer         = m_peers[grant.peer];
    Fifo<Piece> &queue = peer.bulk[static_cast<unsigned>(grant.kind)];

    for (uint64_t left = grant.bytes; left != 0;) {
        Piece &piece  = queue.front();
        uint32_t part = static_cast<uint32_t>(std::min<int64_t>(piece.left, left));
        bool last     = (piece.left == part);

        if (grant.kind == core::BulkKind::read) {
            m_world.nic().read(peer.link, piece.flow, part, last);
        } else {
            Message message{.link   = peer.link,
                            .flow   = piece.flow,
                            .bytes  = part,
                            .opcode = Opcode::write,
                            .last   = last};

            message.tag[0] = static_cast<uint32_t>(run(Step::stamp_bulk, grant.peer));
            m_world.nic().post(message);
        }
        piece.left -= part;
        left -= m_flow.charge(part);
        if (last) {
            queue.pop();
        }
    }
}

void Product::arrived(Link link, const Message &message)
{
    auto found = m_index.find(link);

    if (found == m_index.end()) {
        return;
    }

    uint32_t peer = found->second;
    bool covered  = true;

    if (message.opcode == Opcode::read_response) {
        run(Step::read_done, peer, m_flow.charge(message.bytes));
    } else if (message.opcode == Opcode::write) {
        run(Step::byte_request, peer, message.tag[0]);
        covered = run(Step::bytes_arrived, peer, message.bytes) != 0;
    } else {
        auto verdict = static_cast<core::Verdict>(
                run(Step::arrival, peer, message.tag[1], message.tag[0]));

        if (verdict != core::Verdict::in_order) {
            throw Broken("a message was not taken as in order");
        }
        if (message.bytes > small_message) {
            covered = run(Step::bytes_arrived, peer, message.bytes) != 0;
        }
    }
    if (!covered) {
        throw Broken("bytes arrived without credit");
    }
    m_counters.max_messages = std::max<uint64_t>(m_counters.max_messages,
                                                 m_flow.pool().outstanding());
    m_counters.max_bytes    = std::max<uint64_t>(m_counters.max_bytes,
                                              m_flow.bytes().outstanding() *
                                                      uint64_t{256});
}

void Product::acked(const Message &message)
{
    auto found = m_index.find(message.link);

    if ((found != m_index.end()) &&
        ((message.opcode == Opcode::write) || (message.bytes > small_message))) {
        run(Step::bulk_done, found->second, m_flow.charge(message.bytes));
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

    on_notice(found->second, *core::decode_notice(static_cast<uint32_t>(packet.value)));
}

void Product::on_notice(uint32_t peer, const Notice &notice)
{
    bool good = true;

    switch (notice.kind) {
    case Notice::request:
        run(Step::request, peer, notice.value);
        break;
    case Notice::grant:
        run(Step::answered, peer,
            core::Serial<core::notice_value_bits>::widen(
                    m_flow.stats(peer).credit_granted, notice.value));
        break;
    case Notice::byte_request:
        run(Step::byte_request, peer, notice.value);
        break;
    case Notice::revoke:
        run(Step::revoked, peer, notice.value);
        break;
    case Notice::byte_revoke:
        run(Step::bytes_revoked, peer, notice.value);
        break;
    case Notice::give_back:
        good = run(Step::given_back, peer, notice.value) != 0;
        break;
    case Notice::byte_return:
        good = run(Step::bytes_given_back, peer, notice.value) != 0;
        break;
    case Notice::bulk: /* comes with data */
    case Notice::wake: /* nobody sleeps here */
    case Notice::woken:
        break;
    }
    if (!good) {
        throw Broken("a peer gave back what it did not hold");
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

/* No sooner than a program that polls would look. */
void Product::arm_timer()
{
    uint64_t due = m_flow.tick_due_ns();

    if (due != ~uint64_t{0}) {
        m_world.set_timer(m_host, std::max(static_cast<Time>(due) * nanosecond,
                                           m_world.now() + microsecond));
    }
}

DriverCounters Product::counters() const
{
    DriverCounters counters = m_counters;
    core::FlowStats stats   = m_flow.stats();

    counters.stall_ns[0] = stats.credit_stall.ns;
    counters.stall_ns[1] = stats.bytes_stall.ns;
    counters.late        = stats.late;
    counters.stall_ns[2] = stats.window_stall.ns;
    return counters;
}

std::string Product::check() const
{
    return m_flow.check();
}

} // namespace be::sim
