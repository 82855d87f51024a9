// SPDX-License-Identifier: BSD-3-Clause

#include "nic.hpp"

#include <algorithm>

namespace be::sim {

namespace {

/* Spreads connections over the spines as a hash of their ports would. */
uint16_t path(uint32_t number, uint32_t spines)
{
    uint64_t x = (number + 1) * 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
    return static_cast<uint16_t>((x >> 32) % spines);
}

} // namespace

Nic::Nic(const FabricConfig &fabric, const NicConfig &config, NicClient &client) :
    m_config(config), m_client(client), m_fabric(fabric, *this)
{
    m_hosts.resize(m_fabric.config().hosts);
}

void Nic::add_link(uint32_t from, uint32_t to)
{
    for (int i = 0; i < 2; ++i) {
        Pair pair;

        pair.from  = from;
        pair.to    = to;
        pair.spine = path(static_cast<uint32_t>(m_pairs.size()),
                          m_fabric.config().spines);
        m_pairs.push_back(std::move(pair));
    }
}

void Nic::set_spine(Link link, uint16_t spine)
{
    for (uint32_t pair : {2 * link, 2 * link + 1}) {
        m_pairs[pair].spine = spine;
    }
}

Fifo<uint32_t> &Nic::turns(uint32_t pair)
{
    Host &host = m_hosts[m_pairs[pair].from];

    return (m_config.messages_first && (pair % 2 == 0)) ? host.first_turns : host.turns;
}

void Nic::take_turn(uint32_t index)
{
    Pair &pair = m_pairs[index];

    if (!pair.in_turn && (pair.hold <= m_fabric.now()) &&
        (pair.next < pair.messages.size())) {
        pair.in_turn = true;
        turns(index).push(index);
        m_fabric.kick_host(pair.from);
    }
}

void Nic::post(const Message &message)
{
    uint32_t pair_index = 2 * message.link + (message.opcode != Opcode::send);
    Pair &pair          = m_pairs[pair_index];
    uint32_t index;

    if (m_free_messages.empty()) {
        index = static_cast<uint32_t>(m_messages.size());
        m_messages.push_back(message);
    } else {
        index = m_free_messages.back();
        m_free_messages.pop_back();
        m_messages[index] = message;
    }
    m_messages[index].number = pair.numbered++;
    m_messages[index].posted = m_fabric.now();
    pair.messages.push(index);
    take_turn(pair_index);
}

void Nic::send_control(uint32_t from, uint32_t to, uint32_t pair, const Packet &what)
{
    if (m_hosts[from].dead) {
        return;
    }

    uint32_t index = m_fabric.allocate();
    Packet &packet = m_fabric.packet(index);

    packet       = what;
    packet.from  = from;
    packet.to    = to;
    packet.pair  = pair;
    packet.wire  = control_bytes;
    packet.spine = m_pairs[pair].spine;
    m_hosts[from].control.push(index);
    m_fabric.kick_host(from);
}

void Nic::control(Link link, PacketType type, uint64_t value, uint64_t extra)
{
    const Pair &pair = m_pairs[2 * link];

    send_control(pair.from, pair.to, 2 * link,
                 {.type = type, .value = value, .extra = extra});
}

void Nic::read(Link link, uint32_t flow, uint32_t bytes, bool last)
{
    const Pair &pair = m_pairs[2 * link + 1];

    send_control(pair.from, pair.to, 2 * link + 1,
                 {.message = flow,
                  .type    = PacketType::read_request,
                  .last    = last,
                  .value   = bytes});
}

void Nic::answer(const Packet &packet, PacketType type, uint64_t value)
{
    send_control(packet.to, packet.from, packet.pair, {.type = type, .value = value});
}

uint32_t Nic::next_packet(uint32_t index)
{
    Host &host = m_hosts[index];

    if (host.dead) {
        return nothing;
    }
    if (!host.control.empty()) {
        return host.control.pop();
    }
    while (!host.turns.empty() || !host.first_turns.empty()) {
        Fifo<uint32_t> &round = host.first_turns.empty() ? host.turns : host.first_turns;
        uint32_t packet       = next_data(round.pop());

        if (packet != nothing) {
            return packet;
        }
    }
    return nothing;
}

uint32_t Nic::next_data(uint32_t pair_index)
{
    Pair &pair = m_pairs[pair_index];

    pair.in_turn = false;
    if ((pair.hold > m_fabric.now()) || (pair.next >= pair.messages.size())) {
        return nothing;
    }

    uint32_t message_index = pair.messages[pair.next];
    const Message &message = m_messages[message_index];
    int64_t payload        = std::min<int64_t>(mtu, message.bytes - pair.offset);
    uint32_t index         = m_fabric.allocate();
    Packet &packet         = m_fabric.packet(index);

    packet = {.from    = pair.from,
              .to      = pair.to,
              .pair    = pair_index,
              .message = message_index,
              .wire    = static_cast<uint16_t>(payload + overhead),
              .spine   = pair.spine,
              .type    = PacketType::data,
              .first   = (pair.offset == 0),
              .value   = message.number};
    pair.offset += static_cast<uint32_t>(payload);
    packet.last = (pair.offset >= message.bytes);
    if (packet.last) {
        pair.offset = 0;
        ++pair.next;
    }
    if (pair.next < pair.messages.size()) {
        pair.in_turn = true;
        turns(pair_index).push(pair_index);
    }
    return index;
}

void Nic::packet_arrived(uint32_t host, uint32_t index)
{
    Packet packet = m_fabric.packet(index);

    m_fabric.release(index);
    if (m_hosts[host].dead) {
        return;
    }
    switch (packet.type) {
    case PacketType::data:
        data_arrived(host, packet);
        break;
    case PacketType::ack:
        ack_arrived(host, packet);
        break;
    case PacketType::rnr_nak:
        nak_arrived(packet);
        break;
    case PacketType::read_request:
        post({.link   = (packet.pair / 2) ^ 1,
              .flow   = packet.message,
              .bytes  = static_cast<uint32_t>(packet.value),
              .opcode = Opcode::read_response,
              .last   = packet.last});
        break;
    default:
        m_client.control_arrived(host, packet);
    }
}

void Nic::data_arrived(uint32_t index, const Packet &packet)
{
    Pair &pair = m_pairs[packet.pair];
    Host &host = m_hosts[index];

    if (static_cast<uint32_t>(packet.value) != pair.expected) {
        return; /* behind one that was refused */
    }
    if (packet.first) {
        pair.accepting = (m_messages[packet.message].opcode != Opcode::send) ||
                         (host.receives > 0);
        if (!pair.accepting) {
            ++m_rnr_naks;
            answer(packet, PacketType::rnr_nak, packet.value);
            return;
        }
        host.receives -= (m_messages[packet.message].opcode == Opcode::send);
    }
    if (pair.accepting && packet.last) {
        ++pair.expected;
        pair.accepting = false;
        answer(packet, PacketType::ack, packet.value);
        m_client.message_arrived(index, packet.message);
    }
}

void Nic::ack_arrived(uint32_t host, const Packet &packet)
{
    Pair &pair = m_pairs[packet.pair];

    while (!pair.messages.empty()) {
        uint32_t index = pair.messages.front();

        if (static_cast<int32_t>(m_messages[index].number -
                                 static_cast<uint32_t>(packet.value)) > 0) {
            break;
        }
        pair.messages.pop();
        pair.next -= (pair.next != 0);

        Message message = m_messages[index];

        m_free_messages.push_back(index);
        m_client.message_acked(host, message);
    }
}

void Nic::nak_arrived(const Packet &packet)
{
    Pair &pair = m_pairs[packet.pair];

    if (pair.messages.empty() || (pair.hold > m_fabric.now())) {
        return;
    }
    pair.next = 0;
    while ((pair.next < pair.messages.size()) &&
           (m_messages[pair.messages[pair.next]].number < packet.value)) {
        ++pair.next;
    }
    pair.offset = 0;
    pair.hold   = m_fabric.now() + m_config.rnr_delay;
    m_fabric.at(pair.hold, retry, packet.pair);
}

void Nic::event(const Event &event)
{
    if (event.kind == retry) {
        take_turn(event.a);
    } else {
        m_client.event(event);
    }
}

} // namespace be::sim
