// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the fabric model, in the registry: messages on their way, in the order in which the ports
// send them, and what the ports' lines and buffers are busy with. Everything but the ports' settings is
// changed under `lock` only. Links are indices, 0 is none.
#pragma once

#include "fabric_settings.h"
#include "shared_lock.h"
#include "sizes.h"

#include <cstdint>

namespace softrdma {

namespace limits {
inline constexpr uint32_t fabric_ports    = processes * devices;
inline constexpr uint32_t fabric_flows    = 16384;
inline constexpr uint32_t fabric_messages = 65536;
} // namespace limits

// The port of a process slot and device.
constexpr uint32_t port_key(uint32_t slot, uint32_t device)
{
    return slot * limits::devices + device;
}

enum class message_state : uint8_t {
    unused,
    queued, // not all of it has left
    delivered, // all of it is at the receiver at `when`
    lost, // at least a packet of an unreliable message is not
    failed // a reliable one's retries are used up
};

struct fabric_message {
    uint64_t when; // not before, while it is queued; then: when it was delivered, lost or given up
    uint64_t arrives; // the latest of its packets
    uint64_t bytes;
    uint64_t resend_at; // 0 unless a packet was lost
    uint64_t timeout_ns; // of an acknowledgement
    uint32_t packets;
    uint32_t sent; // packets
    uint32_t resend_from; // the first packet that was lost
    uint32_t to; // port
    uint32_t flow;
    uint32_t next; // of its flow, or in the list of unused ones
    uint32_t mtu; // bytes
    uint32_t attempts; // since the last progress
    uint32_t retries;
    message_state state;
    uint8_t priority;
    bool reliable;
    bool ordered;
    bool answer; // to a request of the port that it goes to
    bool by_timer; // nothing tells the sender that a packet was lost
    bool damaged; // an unreliable one of which a packet was lost
    bool abandoned; // nobody will ask
};

// Messages that leave one port one after the other: the requests of a queue pair, or the answers to it.
struct fabric_flow {
    uint64_t last_delivery;
    uint32_t from; // port
    uint32_t owner; // process slot
    uint32_t first, last; // messages
    uint32_t next, previous; // flows of the port that have messages, a ring
    uint32_t length;
    bool used;
};

struct fabric_port {
    uint64_t line_free; // when the line has sent what it was given
    uint64_t drained; // when the switch's buffer toward the port will be empty
    uint64_t paused_until[8]; // sending, by priority
    uint64_t next_time; // when it sends next
    uint32_t next_flow; // what
    uint32_t flows; // last served of the ring
    uint32_t active; // 1 + place in the list of active ports
    bool stops_senders[8]; // its buffer was filled to xoff and not yet drained to xon
};

struct fabric_state {
    shared_lock lock;
    uint64_t random;
    uint32_t active_count;
    uint32_t turn; // which of several ports that may send at the same time is first
    uint32_t free_message, high_message;
    uint32_t free_flow, high_flow;
    uint32_t active[limits::fabric_ports]; // ports that have something to send
    shared_fabric_settings settings[limits::fabric_ports];
    fabric_port ports[limits::fabric_ports];
    fabric_flow flows[limits::fabric_flows];
    fabric_message messages[limits::fabric_messages];
};

} // namespace softrdma
