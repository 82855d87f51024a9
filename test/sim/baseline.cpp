// SPDX-License-Identifier: BSD-3-Clause

#include "baseline.hpp"

#include <algorithm>

#include "world.hpp"

namespace be::sim {

void Baseline::join(Link link)
{
    m_index[link] = static_cast<uint32_t>(m_peers.size());
    m_peers.emplace_back();
    m_peers.back().link = link;
}

uint64_t Baseline::hello(Link)
{
    return 0;
}

void Baseline::welcome(Link, uint64_t)
{
}

void Baseline::leave(Link link)
{
    peer(link).gone = true;
}

void Baseline::submit(Link link, uint32_t flow, int64_t bytes, Operation operation)
{
    Peer &to = peer(link);

    if (operation == Operation::read) {
        for (; bytes > 0; bytes -= m_config.chunk) {
            int64_t part = std::min(bytes, m_config.chunk);

            m_world.nic().read(link, flow, static_cast<uint32_t>(part),
                               bytes <= m_config.chunk);
        }
        return;
    }

    bool is_small = (operation == Operation::send) && (bytes < m_config.segment);

    (is_small ? to.small : to.bulk).push({flow, bytes, operation});
    pump(to);
}

bool Baseline::may_post(Peer &peer, int64_t bytes, Operation operation)
{
    if (m_config.policy == Policy::fixed) {
        return (operation != Operation::send) ||
               (peer.sent - peer.reported < fixed_window);
    }
    if (m_config.policy != Policy::swift) {
        return true;
    }

    Time now = m_world.now();

    if ((peer.outstanding != 0) &&
        (static_cast<double>(peer.outstanding + bytes) > peer.window)) {
        return false;
    }
    if (now < peer.next_send) {
        if (!peer.paced) {
            peer.paced = true;
            m_paced.push_back(m_index.at(peer.link));
        }
        m_world.set_timer(m_host, peer.next_send);
        return false;
    }
    if (peer.window < static_cast<double>(bytes)) {
        peer.next_send = now +
                         static_cast<Time>(static_cast<double>(
                                                   std::max(peer.delay, m_config.loop)) *
                                           static_cast<double>(bytes) / peer.window);
    }
    return true;
}

void Baseline::post_piece(Peer &peer, Fifo<Piece> &queue, int64_t bytes)
{
    Piece &piece = queue.front();

    piece.left -= bytes;
    peer.outstanding += bytes;
    peer.sent += (piece.operation == Operation::send);
    m_world.nic().post({.link   = peer.link,
                        .flow   = piece.flow,
                        .bytes  = static_cast<uint32_t>(bytes),
                        .opcode = (piece.operation == Operation::send) ? Opcode::send :
                                                                         Opcode::write,
                        .last   = (piece.left == 0)});
    if (piece.left == 0) {
        queue.pop();
    }
}

void Baseline::pump(Peer &peer)
{
    for (Fifo<Piece> *queue : {&peer.small, &peer.bulk}) {
        while (!queue->empty()) {
            const Piece &piece = queue->front();
            int64_t most       = (piece.operation == Operation::send) ? m_config.segment :
                                                                        m_config.chunk;
            int64_t bytes      = std::min(piece.left, most);

            if (!may_post(peer, bytes, piece.operation)) {
                break;
            }
            post_piece(peer, *queue, bytes);
        }
    }
}

void Baseline::arrived(Link link, const Message &message)
{
    if ((m_config.policy == Policy::fixed) && (message.opcode == Opcode::send)) {
        Peer &from = peer(link);

        if (++from.arrived % fixed_report == 0) {
            m_world.nic().control(link, PacketType::policy, from.arrived);
        }
    }
}

void Baseline::adapt(Peer &peer, const Message &message)
{
    Time transfer = message.bytes * m_world.nic().fabric().byte_time();
    Time delay    = m_world.now() - message.posted - transfer;
    double target = target_loops * static_cast<double>(m_config.loop);
    double bytes  = message.bytes;

    peer.delay = (peer.delay != 0) ? (7 * peer.delay + delay) / 8 : delay;
    if (static_cast<double>(delay) < target) {
        peer.window += increase_bytes * bytes /
                       ((peer.window >= bytes) ? peer.window :
                                                 static_cast<double>(m_config.chunk));
    } else if (m_world.now() - peer.cut_at > delay) {
        double excess = (static_cast<double>(delay) - target) /
                        static_cast<double>(delay);

        peer.window *= std::max(1 - decrease * excess, 0.5);
        peer.cut_at = m_world.now();
    }
    peer.window = std::clamp(peer.window, 16.0,
                             4.0 * static_cast<double>(m_config.path_bytes()));
}

void Baseline::acked(const Message &message)
{
    Peer &to = peer(message.link);

    to.outstanding -= message.bytes;
    if (m_config.policy == Policy::swift) {
        adapt(to, message);
    }
    pump(to);
}

void Baseline::control(Link link, const Packet &packet)
{
    Peer &from = peer(link);

    if (packet.type == PacketType::policy) {
        from.reported = static_cast<uint32_t>(packet.value);
        pump(from);
    }
}

void Baseline::reposted()
{
}

void Baseline::timer()
{
    std::vector<uint32_t> paced;

    paced.swap(m_paced);
    for (uint32_t index : paced) {
        m_peers[index].paced = false;
        pump(m_peers[index]);
    }
}

DriverCounters Baseline::counters() const
{
    return {};
}

std::string Baseline::check() const
{
    return {};
}

} // namespace be::sim
