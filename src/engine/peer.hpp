// SPDX-License-Identifier: BSD-3-Clause
//
// One remote fabric: its two queue pairs, the links of our members to it, and how it stands.
//
// Life:  connecting --wire--> ready --failure or goodbye--> draining --queues empty--> dead
//                            ready <--> recovering, as long as the peer lives: see recovery.cpp
// A peer is made by the first link to it or by its own Connect, whichever comes first. It lives as long as
// the other side does or somebody here refers to one of its links. Once dead, and unreferenced, it is freed between
// two rounds of progress, never under a caller's feet.
//
// Draining: both queue pairs are in error and a marker is posted on each. The markers' completions tell that the
// device has let go of every buffer; only then are the last arrivals taken, the account closed and operations
// that were outstanding reported.

#pragma once

#include "control/types.hpp"
#include "core/recovery.hpp"
#include "core/wire.hpp"
#include "engine/c_api.h"
#include "engine/fault.hpp"
#include "engine/link.hpp"
#include "engine/parked.hpp"
#include "engine/send_queue.hpp"
#include "engine/tcp_peer.hpp"
#include "memory/arena.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
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
        recovering, // nothing is posted, what is to be is kept
        draining,
        dead
    };

    Peer(Fabric &owner, std::uint32_t flow_index, const control::Identity &identity,
         const core::RecoveryConfig &recovery_config) :
        fabric(owner),
        index(flow_index),
        remote(identity),
        recovery(recovery_config, identity.fabric_id)
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

    control::Address control; // where its process can be connected to
    std::uint64_t session    = 0; // names this connection, over all its channels
    std::uint64_t redial_at  = ~std::uint64_t{0}; // ns: the channel is to be got again
    std::uint64_t dial_pause = 0; // ns, before the next attempt
    control::ProbeId probe   = 0; // whether its process lives; 0: not asked

    core::Recovery recovery;
    bool recoverable = false; // both ends can
    std::optional<control::RecoverInfo> own; // what we say in this epoch
    std::optional<control::RecoverInfo> theirs; // what the peer said
    std::uint64_t lost_at  = 0; // the path, ns
    std::uint64_t begun_at = 0; // the recovery: fresh queue pairs, ns
    std::unique_ptr<TcpPeer>
            tcp; // data goes over the side channel: there are no queue pairs

    bool tcp_agreed         = false; // that may be
    bool no_rdma            = false; // we have no use for fresh queue pairs now
    bool fallen_back        = false; // went over to TCP, and not back yet
    unsigned failures       = 0; // of paths in a row that were of no use
    std::uint64_t made_at   = 0; // the present path, ns
    std::uint64_t made_with = 0; // ... when so much had gone through
    std::uint64_t try_at    = ~std::uint64_t{0}; // RDMA again, ns
    std::uint64_t try_pause = 0; // ns, before the next attempt
    std::string cause; // ... and why
    Fault fault; // of the last loss of the path
    std::uint64_t losses = 0; // of the path

    // Writes are numbered. How many of the peer's have arrived is known from byte credit, else the peer says so in the
    // second word of the cell.
    bool counts_writes           = false; // we say so to the peer
    std::uint32_t writes_posted  = 0;
    std::uint32_t writes_arrived = 0; // with byte credit

    std::array<std::uint32_t, 2> psn{}; // of our first packet on messages and bulk
    unsigned notice_receives = 0; // posted on its behalf

    memory::Block cell; // written by the peer: what we may send; its writes that arrived
    std::uint64_t remote_cell      = 0; // written by us: what the peer may send
    std::uint32_t remote_cell_rkey = 0;

    std::unordered_map<std::uint32_t, std::unique_ptr<Link>> links; // by Link::key()
    std::array<Fifo<LinkBulk>, 2> bulk_links; // those with operations, in turn
    std::array<std::uint64_t, 2> admitted{}; // bytes that may be posted and are not yet
    unsigned bulk_turn = 0; // which kind is posted first
    ParkedQueue parked;
    std::vector<Link *> flushing; // those with waiters
    std::uint64_t freed =
            0; // goes up whenever it may be worth while to try again what was refused

    std::vector<Note> notes; // to be sent
    std::vector<std::uint16_t> holding; // our interfaces that it was told not to send to
    std::unordered_set<std::uint16_t> held; // its interfaces that we must not send to
    std::unordered_set<std::uint16_t> gone; // ... that are no more

    // What found no slot in its send queue, or in the completion queue, and is tried again.
    bool cell_deferred        = false;
    bool marker_deferred      = false;
    unsigned returns_deferred = 0;
    unsigned notices          = 0; // a bit for each kind
    std::array<std::uint32_t, core::Notice::woken + 1> notice_values{};

    std::uint64_t cell_seen = 0; // the word as it was last read for byte credit

    // Draining: when to stop waiting for the device. Connecting: for the other side's Connect.
    std::chrono::steady_clock::time_point deadline{};

    // Work requests of both queues.
    std::uint64_t sends_retired() const noexcept
    {
        return messages.retired() + bulk.retired();
    }

    bool usable() const noexcept
    {
        return state <= State::recovering;
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
