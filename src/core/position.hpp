// SPDX-License-Identifier: BSD-3-Clause
//
// What one end of a connection tells the other when the path between them is replaced: what has arrived, and how
// credit stands. Everything is a total, so that it may be told late and more than once.

#pragma once

#include <cstdint>

namespace be::core {

struct Position {
    uint32_t expected          = 0; /* sequence number of the next message */
    uint32_t writes            = 0; /* pieces of writes that have arrived */
    uint32_t messages          = 0; /* granted to the receiver of this */
    uint32_t units             = 0; /* likewise, of bytes; 0 without byte credit */
    uint32_t messages_returned = 0; /* of the credit that the sender of this was granted */
    uint32_t units_returned    = 0;

    bool operator==(const Position &) const = default;
};

} // namespace be::core
