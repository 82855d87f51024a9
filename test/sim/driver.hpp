// SPDX-License-Identifier: BSD-3-Clause
//
// A flow-control policy as one host runs it: decides when what was submitted is posted.

#pragma once

#include <cstdint>
#include <string>

#include "packet.hpp"

namespace be::sim {

class World;

enum class Operation : uint8_t {
    send, /* messages of a segment each */
    write,
    read /* by the host that it was submitted to */
};

/* What a policy did; summed over the hosts. */
struct DriverCounters {
    uint64_t cells    = 0;
    uint64_t notices  = 0; /* requests, answers and returns */
    uint64_t revokes  = 0;
    uint64_t late     = 0; /* times that a peer was found late */
    uint64_t suspects = 0; /* connections given up because they held credit silently */
    uint64_t max_messages = 0; /* granted and not arrived, at the worst host */
    uint64_t max_bytes    = 0;
    uint64_t stall_ns[3]  = {}; /* for want of: message credit, byte credit, window */

    void add(const DriverCounters &other);
};

class Driver {
public:
    virtual ~Driver() = default;

    /* A connection is set up: both ends join, then each hears the other's hello. */
    virtual void join(Link link)                    = 0;
    virtual uint64_t hello(Link link)               = 0;
    virtual void welcome(Link link, uint64_t hello) = 0;

    /* The peer has been declared dead: nothing of it can arrive any more. */
    virtual void leave(Link link) = 0;

    virtual void submit(Link link, uint32_t flow, int64_t bytes, Operation operation) = 0;

    /* The software handles a message for the end `link`. */
    virtual void arrived(Link link, const Message &message) = 0;

    /* One of ours was acknowledged. */
    virtual void acked(const Message &message) = 0;

    virtual void control(Link link, const Packet &packet) = 0;

    /* The application has given back a receive, and it was posted. */
    virtual void reposted() = 0;

    /* A timer set with World::set_timer(). */
    virtual void timer() = 0;

    /* Everything is over: counters and, if an invariant is broken, which. */
    virtual DriverCounters counters() const = 0;
    virtual std::string check() const       = 0;
};

} // namespace be::sim
