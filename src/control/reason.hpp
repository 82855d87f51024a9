// SPDX-License-Identifier: BSD-3-Clause
//
// Why a control connection ended or was turned away.

#pragma once

#include <cstddef>
#include <cstdint>

namespace be::control {

// The values travel in Refuse messages: never renumber, append only. A value
// that this release does not know is read as `refused`.
enum class Reason : std::uint8_t {
    local           = 0, // this side called close() or refuse()
    closed_by_peer  = 1, // TCP ended without Goodbye: peer process died or was killed
    refused         = 2, // the other fabric declined the connection
    unreachable     = 3, // TCP could not connect (refused, no route, timed out)
    authentication  = 4, // proof of the token is wrong
    version         = 5, // major protocol versions differ
    malformed       = 6, // not a frame of this protocol, or a value out of range
    oversized       = 7, // frame longer than allowed
    unexpected      = 8, // a message that the state of the connection does not allow
    timeout         = 9, // handshake too slow, or peer silent for peer_timeout
    goodbye         = 10, // the other fabric closed in order
    unknown_fabric  = 11, // the address is of a fabric that no longer lives there
    resources       = 12, // out of descriptors, memory or queue space
    duplicate       = 13, // the fabrics are already connected (simultaneous connect)
    incompatible    = 14, // the ends cannot work together (link layer, MTU, ...)
    unknown_session = 15, // to be resumed, but not known here (any more)
};

constexpr std::size_t reason_count = 16;

// A short phrase for logs, e.g. "closed by peer". Never null.
const char *to_string(Reason reason) noexcept;

// Maps a value from a Refuse message. What this release does not know, and what
// only one's own side can find (closed_by_peer, goodbye, ...), is read as
// Reason::refused.
Reason reason_from_wire(std::uint8_t value) noexcept;

} // namespace be::control
