// SPDX-License-Identifier: BSD-3-Clause
//
// Constants of a fabric: sizes of queues and batches, and how often what is looked after.

#pragma once

#include <cstdint>

namespace be::engine {

inline constexpr unsigned poll_batch = 16; // completions taken at once
inline constexpr unsigned idle_polls_to_refill =
        32; // then fewer receives than a batch are posted for somebody who waits
inline constexpr unsigned idle_polls_to_rest =
        4096; // ... and for nobody; a power of two, as the others
inline constexpr unsigned idle_polls_per_look =
        64; // at the send queue, of which only a failure could come
inline constexpr unsigned batches_per_look =
        8; // of arrivals, then the clock is read again: that takes a tenth of handling one
inline constexpr unsigned send_patience =
        16; // calls of progress() with arrivals, then sends get their turn too
inline constexpr unsigned action_batch = 16;
inline constexpr unsigned bulk_reserve =
        5; // bulk queue slots that the count of a write and notices can rely on
inline constexpr unsigned max_queued_bulk = 256; // operations waiting on one peer
// Receives for notices: of each kind there is one under way at most, but for what uses up byte credit.
inline constexpr unsigned notices_per_peer = 4; // request, grant, revoke, give_back
inline constexpr unsigned notices_per_byte_peer =
        9; // and byte_request, -revoke, -return, wake, woken
inline constexpr unsigned notice_receives = 8192; // twice that with byte credit
inline constexpr unsigned notice_batch    = 32; // posted at once

// Lockable memory below which what applications send is copied: two dozen operations of a mebibyte in flight would not fit
// beside our own buffers, and UCP gives up an operation whose memory cannot be registered.
inline constexpr std::uint64_t least_lockable_for_zero_copy = 64ull << 20;
inline constexpr unsigned least_staging_buffers = 16; // that there are in any case
inline constexpr unsigned looks_in_a_row        = 16; // of the waker
inline constexpr unsigned least_backlog         = 64; // of messages that are worth a hold

inline constexpr unsigned most_sends_put_off =
        256; // completions to come, then they are polled beside arrivals

} // namespace be::engine
