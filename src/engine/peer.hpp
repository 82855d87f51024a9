// SPDX-License-Identifier: BSD-3-Clause
//
// One remote fabric: its two queue pairs, its queued bulk, who waits for it, and how it stands.
//
// Life:  connecting --wire--> ready --failure or goodbye--> draining --queues empty--> dead
// A peer is made by the first endpoint to it or by its own Connect, whichever comes first. It lives as long as
// the other side does or somebody here holds a reference. Once dead, and unreferenced, it is freed between two
// rounds of progress, never under a caller's feet.
//
// Draining: both queue pairs are in error and a marker is posted on each. The markers' completions tell that the
// device has let go of every buffer; only then are the last arrivals taken, the account closed and operations
// that were outstanding reported.

#pragma once

#include "control/types.hpp"
#include "engine/bulk_operation.hpp"
#include "engine/c_api.h"
#include "engine/send_queue.hpp"
#include "memory/arena.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

struct be_peer {};

namespace be::engine {

class Fabric;

// Somebody who waits until everything that was outstanding is complete; shared by the peers a fabric flush
// waits for.
struct Flush {
    void *completion    = nullptr;
    unsigned peers_left = 0;
    be_status_t status  = BE_OK;
};

struct FlushWaiter {
    std::uint64_t messages = 0; // the message queue must have retired this many
    std::uint64_t bulk     = 0; // bulk_done must have reached this
    Flush *flush           = nullptr;
};

class Peer : public ::be_peer {
public:
    enum class State : std::uint8_t {
        connecting,
        ready,
        draining,
        dead
    };

    Peer(Fabric &owner, std::uint32_t flow_index, const control::Identity &identity) :
        fabric(owner), index(flow_index), remote(identity)
    {
    }

    Fabric &fabric;
    const std::uint32_t index; // in core::Flow
    control::Identity remote; // the token is known only if an endpoint was made here
    std::string name; // for messages
    std::string why; // it was lost: half a sentence

    State state        = State::connecting;
    be_status_t status = BE_OK; // why it cannot be used any more
    bool self          = false; // this fabric itself
    bool initiator     = false; // the connection is ours
    bool wired         = false; // the queue pairs are connected
    bool departed      = false; // said goodbye: silent until somebody uses it
    bool lost          = false; // work that was posted did not complete
    bool missed        = false; // somebody used it after it had gone
    bool report_due    = false; // peer_failed is to be called, or was
    bool deferred      = false; // in Fabric's list of those with *_deferred

    unsigned references              = 0; // endpoints
    unsigned queued                  = 0; // operations in their pending queues
    control::ConnectionId connection = 0;

    SendQueue messages; // active messages, credit cells
    SendQueue bulk; // puts, gets, notices

    std::array<std::uint32_t, 2> psn{}; // of our first packet on messages and bulk
    unsigned notice_receives = 0; // posted on its behalf

    memory::Block cell; // written by the peer: what we may send
    std::uint64_t remote_cell      = 0; // written by us: what the peer may send
    std::uint32_t remote_cell_rkey = 0;

    // Bulk
    BulkQueue operations; // not posted entirely
    std::uint64_t admitted    = 0; // bytes the window admitted, not posted yet
    std::uint64_t bulk_issued = 0; // operations accepted, and
    std::uint64_t bulk_done   = 0; // complete; in order

    // Fence: no message before bulk_done reaches the one, no bulk before the message queue retired the other.
    std::uint64_t fence_bulk     = 0;
    std::uint64_t fence_messages = 0;

    std::deque<FlushWaiter> waiters;

    // What found no slot in its send queue and is tried again after the next completion.
    bool cell_deferred          = false;
    bool answer_deferred        = false;
    bool request_deferred       = false;
    std::uint32_t request_value = 0;
    unsigned returns_deferred   = 0;

    // Draining: when to stop waiting for the device. Connecting: for the other side's Connect.
    std::chrono::steady_clock::time_point deadline{};

    bool usable() const noexcept
    {
        return state <= State::ready;
    }

    bool message_fenced() const noexcept
    {
        return bulk_done < fence_bulk;
    }

    bool bulk_fenced() const noexcept
    {
        return messages.retired() < fence_messages;
    }

    bool idle() const noexcept
    {
        return messages.idle() && bulk.idle() && operations.empty();
    }
};

} // namespace be::engine
