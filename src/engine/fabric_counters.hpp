// SPDX-License-Identifier: BSD-3-Clause
//
// What a fabric counts; metrics.cpp says what each is.

#pragma once

#include <cstdint>

namespace be::engine {

struct FabricCounters {
    std::uint64_t messages_sent     = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t bytes_sent        = 0; // payload of messages
    std::uint64_t bytes_received    = 0;
    std::uint64_t bytes_put         = 0;
    std::uint64_t bytes_got         = 0;
    std::uint64_t bytes_copied      = 0; // through staging buffers, both directions
    std::uint64_t receives_kept     = 0; // descriptors the upper layer held on to
    std::uint64_t receives_copied = 0; // ... and those it had to copy, for want of buffers
    std::uint64_t staging_empty   = 0; // sends put off for want of a staging buffer
    std::uint64_t queue_full      = 0; // sends put off for want of a send queue slot
    std::uint64_t messages_dropped = 0; // malformed, or from a peer that is gone
    std::uint64_t peers_failed     = 0;
    std::uint64_t peers_departed   = 0;
    std::uint64_t cells_written    = 0;
    std::uint64_t messages_parked  = 0; // large ones put off for want of byte credit
    std::uint64_t holds            = 0; // peers were told not to send to an interface
    std::uint64_t port_errors      = 0;
    std::uint64_t channels_lost    = 0;
    std::uint64_t paths_lost       = 0;
    std::uint64_t silences         = 0; // of these: the device said nothing
    std::uint64_t recoveries       = 0;
    std::uint64_t recovery_time    = 0; // ns, of those
    std::uint64_t replayed         = 0; // work requests
    std::uint64_t fallbacks        = 0; // peers that went over to TCP
    std::uint64_t returns          = 0; // ... and back
    std::uint64_t rnr              = 0; // receiver-not-ready: must stay 0
};

} // namespace be::engine
