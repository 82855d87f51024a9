// SPDX-License-Identifier: BSD-3-Clause
//
// What Flow keeps of one peer: both directions of messages, byte credit as its sender, and what waits.

#pragma once

#include <cstdint>

#include "core/byte_account.hpp"
#include "core/credit_account.hpp"
#include "core/flow_stats.hpp"
#include "core/flow_types.hpp"
#include "core/sequence.hpp"
#include "core/window.hpp"

namespace be::core {

struct FlowPeer {
    static constexpr uint64_t not_stalled = ~uint64_t{0};

    explicit FlowPeer(uint32_t first_total) :
        account(first_total), sent(first_total), received(first_total)
    {
    }

    FlowPeer(uint32_t first_total, uint32_t first_unit) : FlowPeer(first_total)
    {
        bytes[0] = bytes[1] = ByteAccount(first_unit);
    }

    CreditAccount account;
    ByteAccount bytes[2]; /* by BulkKind */
    SendSequence sent;
    ReceiveSequence received;
    PeerWindow window;
    uint64_t bulk_queued[2] = {}; /* by BulkKind */
    Waiting waiting; /* messages; only what is large is kept current */
    bool message_turn        = true; /* who is next: a large message or a write */
    uint32_t asked_large     = 0; /* large messages that a message credit was asked for */
    uint64_t credit_stall_ns = not_stalled; /* since when */
    uint64_t bytes_stall_ns  = not_stalled;
    uint64_t window_stall_ns = not_stalled;
    uint64_t answered_ns     = 0; /* when the latest request was */
    bool blocked             = false; /* messages are queued for want of credit */
    bool bulk_active         = false; /* counted in m_bulk_peers */
    bool wake_asked          = false; /* of the peer, and not answered */
    bool wake_wanted         = false; /* by the peer, as soon as it has more bytes */
    FlowCounters counters;
};

} // namespace be::core
