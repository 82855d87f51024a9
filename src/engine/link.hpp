// SPDX-License-Identifier: BSD-3-Clause
//
// One member's way to one interface of a peer: what endpoints refer to. The queue pairs, credit and the connection
// are the peer's; what must not be mixed up between members is here: order (bulk, fences, flushes), references,
// and who is to be told of a failure.
//
// A link lives as long as its peer or its references, whichever ends later, and is freed between two rounds of
// progress. Everything is guarded as the fabric is.

#pragma once

#include "engine/bulk_operation.hpp"
#include "engine/c_api.h"

#include <array>
#include <cstdint>

struct be_peer {};

namespace be::engine {

class Member;
class Peer;

// Somebody who waits until everything that was outstanding is complete; shared by the links that a member's
// flush waits for.
struct Flush {
    Flush *next         = nullptr; // in stock
    Member *member      = nullptr;
    void *completion    = nullptr;
    unsigned links_left = 0;
    be_status_t status  = BE_OK;
};

struct FlushWaiter {
    FlushWaiter *next      = nullptr;
    std::uint64_t messages = 0; // the message queue must have retired this many
    unsigned parked        = 0; // of before and not posted yet: `messages` is not known
    std::array<std::uint64_t, 2> bulk{}; // LinkBulk::done must have reached these
    Flush *flush = nullptr;
};

// Its puts, or its gets: each kind has an order and credit of its own, so that one never waits for the other.
struct LinkBulk {
    LinkBulk *next = nullptr; // in Peer::bulk_links, while there are operations
    BulkQueue operations; // not posted entirely
    std::int64_t turn    = 0; // bytes that may be posted before others have their turn
    std::uint64_t issued = 0; // operations accepted, and
    std::uint64_t done   = 0; // complete; in order
    std::uint64_t fence  = 0; // no message before `done` reaches this
    unsigned held        = 0; // operations that are not offered to flow control
    Link *link           = nullptr;
};

class Link : public ::be_peer {
public:
    Link(Member &owner, Peer &to, std::uint16_t remote_iface) :
        member(owner), peer(to), iface(remote_iface)
    {
        bulk[0].link = bulk[1].link = this;
    }

    Member &member;
    Peer &peer;
    const std::uint16_t iface; // within the peer's fabric

    bool barred     = false; // no messages: the remote interface is held or gone
    bool gone       = false; // the remote interface: silent until somebody uses the link
    bool waiting    = false; // somebody was refused, and it is in Member's list of those
    bool short_of   = false; // ... for want of what all peers share
    bool missed     = false; // somebody used it after its peer or interface had gone
    bool report_due = false; // peer_failed is to be called, or was
    bool awaited    = false; // ... is to be called
    bool flushing   = false; // in Peer::flushing

    std::uint64_t refused_at = 0; // Peer::freed or, if short_of, Fabric's

    unsigned references = 0; // endpoints
    unsigned queued     = 0; // operations in their pending queues

    std::array<LinkBulk, 2> bulk; // by BulkOperation::Kind
    std::uint64_t fence_messages = 0; // no bulk before the message queue retired these

    unsigned parked       = 0; // its messages in Peer::parked
    unsigned fence_parked = 0; // of these; no bulk before they are posted

    Fifo<FlushWaiter> waiters;

    // Its place among the links of a peer.
    static constexpr std::uint32_t
    key(std::uint16_t member_id, std::uint16_t remote_iface) noexcept
    {
        return std::uint32_t{member_id} << 16 | remote_iface;
    }

    bool message_fenced() const noexcept
    {
        return bulk[0].done < bulk[0].fence || bulk[1].done < bulk[1].fence;
    }

    bool bulk_outstanding() const noexcept
    {
        return bulk[0].done != bulk[0].issued || bulk[1].done != bulk[1].issued;
    }
};

} // namespace be::engine
