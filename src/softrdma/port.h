// SPDX-License-Identifier: BSD-3-Clause
//
// The shared part of a port. A port belongs to one process and device: each process is, to the others, a
// host of its own with its own adapter. It lies in the registry, so that whoever sends to it, and the
// program `softrdma`, reach it without the process's help.
//
// Cost on the data path: one load of `condition` on either side, and one addition to each of two
// counters on either side. Lines are grouped by who writes them.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrdma {

// What an operation from or to the port has to look at; 0 for one that works as usual.
enum port_condition : uint32_t {
    port_link_down   = 1, // nothing leaves or arrives
    port_removed     = 2, // the device is gone
    port_no_receives = 4, // messages find no receive, whatever is posted
    port_corrupting  = 8, // packets arrive with a wrong checksum
    port_modelled    = 16, // the fabric model says when operations are over
};

// A count that only grows. Any thread.
class counter {
public:
    void add(uint64_t amount = 1)
    {
        m_value.fetch_add(amount, std::memory_order_relaxed);
    }

    uint64_t value() const
    {
        return m_value.load(std::memory_order_relaxed);
    }

    void reset()
    {
        m_value.store(0, std::memory_order_relaxed);
    }

private:
    std::atomic<uint64_t> m_value;
};

// Written by the threads of the port's own process, and by who reads from it.
struct alignas(64) requester_counters {
    counter xmit_bytes;
    counter xmit_packets;
    counter rnr_nak_retry_err;
    counter local_ack_timeout_err;
    counter packet_seq_err;
    counter rnr_retries_exceeded;
    counter transport_retries_exceeded;
};

// Written by those who send to the port.
struct alignas(64) responder_counters {
    counter rcv_bytes;
    counter rcv_packets;
    counter out_of_buffer;
    counter out_of_sequence;
    counter rcv_errors;
    counter dropped_packets;
    counter dropped_bytes;
};

inline constexpr uint32_t priorities = 8;

// Of one priority. Frames received stop this port; frames sent are those that its congestion caused.
struct pause_counters {
    counter rx_frames;
    counter rx_ns;
    counter tx_frames;
    counter tx_ns;
};

struct alignas(64) port_shared {
    std::atomic<uint32_t> condition; // bits of port_condition
    // How many messages more meet the condition; negative: all, until it is lifted.
    std::atomic<int64_t> receives_refused;
    std::atomic<int64_t> arrivals_corrupted;

    requester_counters requester;
    responder_counters responder;
    alignas(64) pause_counters pause[priorities];
};

// Packets that a message of so many bytes takes; `mtu` is an ibv_mtu, 0 (a datagram's) stands for 4096.
constexpr uint64_t packets_of(uint64_t bytes, uint32_t mtu)
{
    uint32_t shift = (mtu != 0) ? mtu + 7 : 12;
    return (bytes <= (uint64_t{1} << shift)) ? 1 : ((bytes - 1) >> shift) + 1;
}

} // namespace softrdma
