// SPDX-License-Identifier: BSD-3-Clause
//
// The values that fabrics exchange over the control channel, and the settings
// of a fabric and of a listening socket. Plain data, copied freely.

#pragma once

#include "control/address.hpp"
#include "control/auth.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace be::control {

// Protocol version of this release. Another major does not interoperate. A
// higher minor only adds what a feature bit announces.
constexpr std::uint16_t protocol_major = 1;
constexpr std::uint16_t protocol_minor = 0;

// Names a connection within this process; never reused. 0 is no connection.
using ConnectionId = std::uint64_t;

// Names a fabric: its id (random, one per incarnation, never 0) and secret.
struct Identity {
    std::uint64_t fabric_id = 0;
    Token token{};
};

struct QueuePairInfo {
    std::uint32_t qpn = 0; // 24 bits
    std::uint32_t psn = 0; // 24 bits, first packet this QP sends

    bool operator==(const QueuePairInfo &) const = default;
};

// "This is my end for you": the content of Connect and of Accept. What arrives
// has been checked against the ranges below (see validate()); whether it suits
// the local device is for the engine to judge.
struct ConnectInfo {
    std::uint64_t fabric_id = 0; // of the sender
    std::vector<QueuePairInfo> qps; // [0] active messages, [1] bulk, then rails;
            // 1..max_queue_pairs
    std::array<std::uint8_t, 16> gid{}; // of the sender's port
    std::uint16_t lid       = 0; // 0 on Ethernet
    std::uint8_t link_layer = 0; // ibv link layer value: 0 unspecified, 1 IB, 2 Ethernet
    std::uint8_t mtu        = 0; // ibv_mtu value of the active MTU: 1 (256) .. 5 (4096)
    std::uint8_t max_rd_atomic = 0; // RDMA reads the sender serves at once, per QP
    std::uint32_t segment_size = 0; // bytes of one receive buffer, > 0
    std::uint32_t initial_messages =
            0; // credits granted to the receiver of this, cumulative
    std::uint64_t cell_address  = 0; // of the credit cell the receiver of this writes
    std::uint32_t cell_rkey     = 0;
    std::uint8_t data_version   = 0; // of the data protocol that the sender speaks
    std::uint32_t byte_unit     = 0; // bytes, of byte credit; 0: it uses none
    std::uint32_t initial_units = 0; // byte credit granted to the receiver, cumulative
    Address control; // where the sender itself can be connected to
    std::uint64_t features = 0; // As delivered: what both ends offered in the
            // authenticated handshake. Ignored when sending;
            // Settings::features is what a fabric offers.

    bool operator==(const ConnectInfo &) const = default;
};

constexpr std::size_t max_queue_pairs = 64;

// Empty when every field is in range, else one sentence that names the field,
// its value and what was expected.
std::string validate(const ConnectInfo &info);

// Of one fabric, see Node::attach().
struct Settings {
    // A connected peer that has been silent for this long is dead. It is asked
    // for a sign of life after a third of it. Also bounds how long connect()
    // goes on trying. At least 10 ms.
    std::chrono::milliseconds peer_timeout{30000};

    // Feature bits this fabric offers; their meaning is the engine's.
    std::uint64_t features = 0;

    // Bytes that may wait to be sent on one connection; a peer that lets more
    // pile up is disconnected (Reason::resources).
    std::size_t max_queued = 256 * 1024;
};

// Of one listening socket, see Node::listen().
struct ListenOptions {
    // Ports to try, both inclusive; 0, 0 lets the system choose.
    std::uint16_t first_port = 0;
    std::uint16_t last_port  = 0;

    // From TCP accept to the authenticated Connect. Bounds what a client that
    // sends little or nothing can hold.
    std::chrono::milliseconds handshake_timeout{2000};

    // Connections that have not sent an authenticated Connect yet. Further ones
    // wait in the kernel's queue.
    std::size_t max_half_open = 256;
};

} // namespace be::control
