// SPDX-License-Identifier: BSD-3-Clause
//
// What travels through the simulated fabric.

#pragma once

#include <cstdint>

#include "event_queue.hpp"

namespace be::sim {

inline constexpr uint32_t nothing      = ~uint32_t{0};
inline constexpr int64_t mtu           = 4096; /* payload bytes of a packet */
inline constexpr int64_t overhead      = 82; /* RoCE v2 headers, CRC, preamble and gap */
inline constexpr int64_t control_bytes = 64 + overhead; /* an ack, a cell, a notice */

/* A connection has two ends; link 2c is one, link 2c + 1 the other. What a link sends
 * arrives at link ^ 1. */
using Link = uint32_t;

enum class PacketType : uint8_t {
    data,
    ack,
    rnr_nak,
    read_request, /* served by the NIC */
    cell, /* credit: a one-sided write */
    notice, /* an immediate on the bulk queue pair */
    policy /* of a baseline policy */
};

struct Packet {
    uint32_t next    = nothing; /* in a queue, or in the list of free packets */
    uint32_t from    = 0; /* host */
    uint32_t to      = 0; /* host */
    uint32_t pair    = 0; /* queue pair it was sent on */
    uint32_t message = nothing;
    uint16_t wire    = 0; /* bytes on the wire */
    uint16_t spine   = 0; /* path */
    uint16_t ingress = 0; /* port of the switch it is in */
    PacketType type  = PacketType::data;
    bool first       = false; /* of its message */
    bool last        = false;
    uint64_t value   = 0; /* sequence number, cell or notice */
    uint64_t extra   = 0;
};

enum class Opcode : uint8_t {
    send, /* takes a receive */
    write, /* with immediate */
    read_response
};

struct Message {
    Link link       = 0; /* that sent it */
    uint32_t flow   = nothing;
    uint32_t bytes  = 0;
    uint32_t number = 0; /* within its queue pair */
    Opcode opcode   = Opcode::send;
    bool last       = false; /* of its flow */
    Time posted     = 0;
    uint32_t tag[4] = {}; /* the policy's, carried to the receiver */
};

} // namespace be::sim
