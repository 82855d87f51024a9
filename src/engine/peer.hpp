// SPDX-License-Identifier: BSD-3-Clause
//
// One remote fabric: its two queue pairs, the links of our members to it, and how it stands.
//
// Life:  connecting --wire--> ready --failure or goodbye--> draining --queues empty--> dead
// A peer is made by the first link to it or by its own Connect, whichever comes first. It lives as long as
// the other side does or somebody here refers to one of its links. Once dead, and unreferenced, it is freed between
// two rounds of progress, never under a caller's feet.
//
// Draining: both queue pairs are in error and a marker is posted on each. The markers' completions tell that the
// device has let go of every buffer; only then are the last arrivals taken, the account closed and operations
// that were outstanding reported.

#pragma once

#include "control/types.hpp"
#include "core/wire.hpp"
#include "engine/c_api.h"
#include "engine/link.hpp"
#include "engine/parked.hpp"
#include "engine/send_queue.hpp"
#include "memory/arena.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace be::engine {

class Fabric;

// Something to tell a peer of one of our interfaces; `what` goes into DataHeader::flags.
struct Note {
    enum What : std::uint8_t {
        hold   = 1,
        resume = 2,
        gone   = 4
    };

    What what;
    std::uint16_t iface;
};

class Peer {
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
    bool deferred      = false; // in Fabric's list of those with *_deferred

    unsigned queued                  = 0; // operations in pending queues, of all links
    control::ConnectionId connection = 0;

    SendQueue messages; // active messages, credit cells
    SendQueue bulk; // puts, gets, notices

    std::array<std::uint32_t, 2> psn{}; // of our first packet on messages and bulk
    unsigned notice_receives = 0; // posted on its behalf

    memory::Block cell; // written by the peer: what we may send
    std::uint64_t remote_cell      = 0; // written by us: what the peer may send
    std::uint32_t remote_cell_rkey = 0;

    std::unordered_map<std::uint32_t, std::unique_ptr<Link>> links; // by Link::key()
    std::array<Fifo<LinkBulk>, 2> bulk_links; // those with operations, in turn
    std::array<std::uint64_t, 2> admitted{}; // bytes that may be posted and are not yet
    unsigned bulk_turn = 0; // which kind is posted first
    Fifo<Parked> parked;
    std::vector<Link *> flushing; // those with waiters
    std::uint64_t freed =
            0; // goes up whenever it may be worth while to try again what was refused

    std::vector<Note> notes; // to be sent
    std::vector<std::uint16_t> holding; // our interfaces that it was told not to send to
    std::unordered_set<std::uint16_t> held; // its interfaces that we must not send to
    std::unordered_set<std::uint16_t> gone; // ... that are no more

    // What found no slot in its send queue and is tried again after the next completion.
    bool cell_deferred        = false;
    unsigned returns_deferred = 0;
    unsigned notices          = 0; // a bit for each kind
    std::array<std::uint32_t, core::Notice::woken + 1> notice_values{};

    std::uint64_t cell_seen = 0; // the word as it was last read for byte credit

    // Draining: when to stop waiting for the device. Connecting: for the other side's Connect.
    std::chrono::steady_clock::time_point deadline{};

    bool usable() const noexcept
    {
        return state <= State::ready;
    }

    // Somebody here still refers to it, or is to be told of its failure.
    bool referenced() const noexcept
    {
        return std::any_of(links.begin(), links.end(), [](const auto &entry) {
            return entry.second->references != 0 || entry.second->awaited;
        });
    }
};

} // namespace be::engine
