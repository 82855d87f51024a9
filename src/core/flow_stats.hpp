// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the flow control, for one peer or summed over all peers of a flow. Plain
// values, a snapshot.

#pragma once

#include <cstdint>

namespace be::core {

/* Times that a peer had something to send and could not, and how long that lasted. A
 * stall that lasts still is counted but its time is not in `ns` yet. */
struct StallStats {
    uint64_t count = 0;
    uint64_t ns    = 0;
};

struct FlowCounters {
    uint64_t messages_sent     = 0; /* admitted */
    uint64_t messages_received = 0; /* arrived, whatever the verdict */
    uint64_t requests_sent     = 0;
    uint64_t requests_received = 0;
    uint64_t answers           = 0; /* to requests of the peer */
    uint64_t cell_writes       = 0; /* asked of the driver, answers not included */
    uint64_t duplicates        = 0; /* arrivals that were delivered before */
    uint64_t gaps              = 0; /* arrivals with something missing before them */
    uint64_t overdrafts = 0; /* arrivals beyond the grant: the peer broke the protocol */
    uint64_t refused_updates = 0; /* implausible totals told by the peer */
    uint64_t bulk_bytes      = 0; /* admitted by the windows */
    uint64_t revokes         = 0; /* sent, of messages and of bytes */
    uint64_t wakes           = 0; /* times that we asked to be woken */
    StallStats credit_stall; /* queued messages, no credit */
    StallStats bytes_stall; /* queued bulk or large messages, no byte credit */
    StallStats window_stall; /* queued bulk, no room in the peer's or the port's window */

    void add(const FlowCounters &other);
};

struct PeerStats : FlowCounters {
    uint32_t credit_granted    = 0; /* by the peer to us, total */
    uint32_t credit_used       = 0; /* by us, total */
    uint32_t peer_granted      = 0; /* by us to the peer, total */
    uint32_t peer_arrived      = 0; /* from the peer, total */
    uint32_t floor             = 0; /* standing minimum of the peer, messages */
    uint64_t bytes_granted     = 0; /* by the peer to us and not used */
    uint64_t bytes_reading     = 0; /* of our own pool for reads from it, not arrived */
    uint64_t credit_returned   = 0; /* by us, messages, total */
    uint64_t peer_returned     = 0; /* by the peer, messages, total */
    uint64_t bytes_returned    = 0; /* by us, total */
    uint64_t bytes_outstanding = 0; /* by us to the peer and not arrived */
    uint64_t bulk_queued       = 0; /* bytes */
    uint64_t bulk_outstanding  = 0; /* bytes */
};

struct FlowStats : FlowCounters {
    uint32_t peers             = 0;
    uint32_t active_peers      = 0; /* with arrivals lately */
    uint32_t capacity          = 0; /* receives that should exist */
    uint32_t posted            = 0; /* receives posted now */
    uint32_t outstanding       = 0; /* granted and not arrived */
    uint32_t share             = 0; /* messages standing for one active peer */
    uint64_t bytes_outstanding = 0; /* byte credit granted and not arrived, bytes */
    uint64_t bytes_running     = 0; /* of that, by those who want more */
    uint64_t bytes_late        = 0; /* of that, by those who are late */
    uint64_t bytes_budget      = 0; /* bound of it */
    uint64_t late              = 0; /* times that a peer used byte credit late */
    uint64_t path_delay_ns     = 0; /* from a grant to its use, as measured */
    uint64_t bulk_outstanding  = 0; /* bytes */
};

} // namespace be::core
