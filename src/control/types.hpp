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
#include <span>
#include <string>
#include <vector>

namespace be::control {

// Protocol version of this release. Another major does not interoperate. A
// higher minor only adds what a feature bit announces.
#ifndef BE_PROTOCOL_MAJOR // a test stands for another release, see test/fault/release.cpp
#define BE_PROTOCOL_MAJOR    1
#define BE_PROTOCOL_MINOR    1
#define BE_PROTOCOL_FEATURES 0
#endif
constexpr std::uint16_t protocol_major = BE_PROTOCOL_MAJOR;
constexpr std::uint16_t protocol_minor = BE_PROTOCOL_MINOR;

// Feature bits with a meaning to the channel itself. They are offered, agreed on
// and delivered like those below bit 32, whose meaning is the engine's.
constexpr std::uint64_t feature_recovery = 1ull << 32; // Recover, Recovered, resume
constexpr std::uint64_t feature_tcp_path = 1ull << 33; // Data

// Offered by every session, whatever its fabric wants: nothing in this release.
constexpr std::uint64_t constant_features = BE_PROTOCOL_FEATURES;

// Names a connection within this process; never reused. 0 is no connection.
using ConnectionId = std::uint64_t;

// Names a question of Node::probe(), as a connection is named.
using ProbeId = std::uint64_t;

// Whether a fabric still lives where it did.
enum class ProbeResult : std::uint8_t {
    gone, // nobody listens there, or a process without this fabric
    alive,
    unknown, // no answer that says either, in the time allowed
};

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
    std::uint64_t session = 0; // of the two fabrics: random, chosen by the initiator at
            // its first connect, carried by the answer; 0: from an older release
    bool resume         = false; // session, which is not 0, goes on over this connection
    std::uint32_t epoch = 0; // of the session's recoveries; the engine's
    std::uint64_t features = 0; // As delivered: what both ends offered in the
            // authenticated handshake. Ignored when sending;
            // Settings::features is what a fabric offers.

    bool operator==(const ConnectInfo &) const = default;
};

constexpr std::size_t max_queue_pairs = 64;

// How far one end has come. Plain numbers here: they count modulo 2^32 since the
// session began, and only the engine knows what to make of them.
struct Position {
    std::uint32_t expected          = 0; // sequence number of the next message it expects
    std::uint32_t writes            = 0; // RDMA writes that have arrived
    std::uint32_t messages          = 0; // message credit granted
    std::uint32_t units             = 0; // byte credit granted
    std::uint32_t messages_returned = 0; // credit given back
    std::uint32_t units_returned    = 0;

    bool operator==(const Position &) const = default;
};

// What data goes over from here on: values of RecoverInfo::path.
constexpr std::uint8_t path_rdma = 0;
constexpr std::uint8_t path_tcp  = 1;

// "Let us go on from here": the content of Recover.
struct RecoverInfo {
    std::uint32_t epoch = 0;
    std::uint8_t path   = path_rdma;
    Position position;
    ConnectInfo connect; // the sender's new end; for path_tcp it may have no queue pairs

    bool operator==(const RecoverInfo &) const = default;
};

// Empty when every field is in range, else one sentence that names the field,
// its value and what was expected.
std::string validate(const ConnectInfo &info);
std::string validate(const RecoverInfo &info);

// A piece of data that goes over the control connection. What it means is the
// engine's. The bytes are somebody else's.
struct DataView {
    std::uint8_t kind   = 0;
    std::uint32_t epoch = 0;
    std::span<const std::uint8_t> header{};
    std::span<const std::uint8_t> payload{};
};

constexpr std::size_t max_data_header  = 64;
constexpr std::size_t max_data_payload = 64 * 1024;

std::string validate(const DataView &data);

// Of one fabric, see Node::attach().
struct Settings {
    // A connected peer that has been silent for this long is dead. It is asked
    // for a sign of life after a third of it. Also bounds how long connect()
    // goes on trying. At least 10 ms.
    std::chrono::milliseconds peer_timeout{30000};

    // How long probe() waits for an answer.
    std::chrono::milliseconds probe_timeout{2000};

    // Feature bits this fabric offers.
    std::uint64_t features = 0;

    // Bytes that may wait to be sent on one connection. A peer that lets more
    // pile up is disconnected (Reason::resources).
    std::size_t max_queued = 256 * 1024;

    // Bytes of data that may wait to be sent on one connection; Node::data() refuses
    // more. Enough that who fills and who sends seldom wait for each other.
    std::size_t max_queued_data = 1024 * 1024;
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

    // Connections beyond the handshake. A further client is told so
    // (Reason::resources) when it has authenticated itself.
    std::size_t max_connections = 65536;

    // A source address that has failed to authenticate this often is not listened
    // to (its connections are closed as they come) until failure_refill has
    // passed for each of the failures but the last failure_burst - 1. One client
    // that succeeds wipes the slate.
    unsigned failure_burst = 32;
    std::chrono::milliseconds failure_refill{250};
};

} // namespace be::control
