// SPDX-License-Identifier: BSD-3-Clause
//
// Processes this one has attached to: their mapped segments and the descriptors to wake them. A peer is
// attached at the first operation toward it and replaced when another process takes its slot. Death is
// noticed by the service thread through a pidfd and sets `dead`; mapping and descriptors go soon afterwards.
//
// Thread rules: find() from any thread, and only inside an execution_guard toward that slot: a peer's
// mapping is removed after the executions that may use it have ended.
#pragma once

#include "layout.h"

#include <atomic>
#include <mutex>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace softrdma {

class process;

class peer {
public:
    peer(segment_layout *segment, uint32_t slot, uint64_t generation, pid_t pid,
         bool own);
    ~peer();
    peer(const peer &)            = delete;
    peer &operator=(const peer &) = delete;

    // Writes the 8-byte cookie into the pipe whose write end is `fd` in the peer; `identity` tells a
    // reused descriptor number. False when the pipe is full or out of reach.
    bool notify(int fd, uint64_t identity, uint64_t cookie);

    // Tells the owner that it has work: a queue pair in error, a limit reached, an overrun.
    void ring_doorbell(int doorbell_fd);

    // Tells the owner that a relayed request got on: one of slot `caller`, or, for 0, one of its own.
    void call(int doorbell_fd, uint32_t caller);

    // Whether the system is known to forbid access to its memory.
    bool out_of_reach() const
    {
        return m_out_of_reach.load(std::memory_order_relaxed);
    }
    // It does, for that errno, or, for 0, as it was configured.
    void refuse_access(int failure);

    // A descriptor of the file its segment is; -1 when it cannot be opened (any more).
    int segment_file(int fd);

    // Gives back mapping and descriptors. No execution toward it is running, and none will begin.
    void let_go();

    segment_layout *segment; // null when they were given back
    const uint32_t slot;
    const uint64_t generation;
    const pid_t pid;
    const bool own;
    std::atomic<bool> dead{false};

private:
    std::atomic<bool> m_out_of_reach{false};
    std::mutex m_mutex;
    int m_segment_file = -1;
    struct channel {
        int fd;
        uint64_t identity;
    };
    std::unordered_map<int, channel> m_channels; // by descriptor number in the peer
};

class peer_table {
public:
    explicit peer_table(process &owner) : m_owner(owner)
    {
    }
    ~peer_table();

    // The live process in that slot, or null.
    peer *find(uint32_t slot);

    // Called by the service thread.
    void mark_dead(uint32_t slot, uint64_t generation);

private:
    peer *attach(uint32_t slot, uint64_t generation);

    process &m_owner;
    std::mutex m_mutex;
    std::atomic<peer *> m_peers[limits::processes] = {};
    std::vector<peer *> m_retired; // unmapped when no execution of ours can use them
};

} // namespace softrdma
