// SPDX-License-Identifier: BSD-3-Clause
//
// What a Flow is configured with, and what it is told and answers (flow.hpp).

#pragma once

#include <cstdint>

#include "core/action.hpp"
#include "core/byte_pool.hpp"
#include "core/receive_pool.hpp"
#include "core/window.hpp"

namespace be::core {

struct FlowConfig {
    ReceivePoolConfig pool;
    WindowConfig window;
    BytePoolConfig bytes; /* off by default; both ends must agree on it */
    uint32_t small_message = 256; /* bytes: longer messages need byte credit too */
    uint64_t active_ns = 1'000'000; /* a peer that sent nothing for 1 to 2 of these is not
                                       active, >= 1 */
};

/* Messages that wait for a peer's credit, and for nothing else (such as others before
 * them). */
struct Waiting {
    uint32_t small = 0; /* how many that need a message credit only */
    uint32_t large = 0; /* how many that need byte credit too */
    uint64_t first = 0; /* charge of the first large one, bytes */
    uint64_t all   = 0; /* charge of all large ones, bytes */
};

/* What to do with a message that arrived. */
enum class Verdict : uint8_t {
    in_order, /* deliver it (kind credit: nothing to deliver) */
    duplicate, /* drop it */
    gap, /* something before it is missing: break the connection */
    overdrawn /* the peer had no credit for it: break the connection */
};

enum class BulkKind : uint8_t {
    write, /* toward the peer */
    read /* from the peer: takes of our own byte pool */
};

/* A piece of bulk that may be posted now. */
struct BulkGrant {
    uint32_t peer  = no_peer;
    uint32_t bytes = 0; /* 0: nothing may be posted now */
    BulkKind kind  = BulkKind::write;

    explicit operator bool() const
    {
        return bytes != 0;
    }
};

} // namespace be::core
