// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes of the soft device. They fix the layout of the shared segment, so a change here needs a new
// layout_version. Every table is sparse: a page is only backed once it is touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrdma {

// Identifies the shared layout; part of the registry's name, so that builds never mix.
inline constexpr uint32_t layout_version = 7;

namespace limits {

inline constexpr uint32_t devices   = 8;
inline constexpr uint32_t processes = 1024;
// A queue pair number is (process slot << qp_bits | index): 24 bits together, as the wire format has.
inline constexpr uint32_t qp_bits = 14;
inline constexpr uint32_t qps     = 1u << qp_bits;
inline constexpr uint32_t cqs     = 4096;
inline constexpr uint32_t srqs    = 1024;
inline constexpr uint32_t mrs     = 1u << 16; // key = index << 8 | tag
inline constexpr uint32_t pds     = 1u << 16;
inline constexpr uint32_t ahs     = 1u << 16;

inline constexpr uint32_t work_requests = 16384; // of one queue
inline constexpr uint32_t slot_chunks   = 15; // 1 + log2 of that
inline constexpr uint32_t sges          = 32; // of one work request
inline constexpr uint32_t cqes          = 1u << 18;
inline constexpr uint32_t inline_bytes  = 512;
inline constexpr uint32_t rd_atomic     = 16;
inline constexpr uint64_t message_bytes = 1ull << 31;
inline constexpr uint32_t ud_bytes      = 4096; // the only MTU offered: one datagram
inline constexpr uint32_t grh_bytes     = 40;

// A send up to this size travels in its completion.
inline constexpr uint32_t carried_bytes = 96;
// A send up to this size travels through a bounce buffer of the receiver; larger ones go by one
// system call straight into the receiver's memory. Holds an 8 KiB segment with 128 bytes of headers.
inline constexpr uint32_t bounce_bytes = 8320;
// Bounce buffers of a receive queue: no more than it has receives, and at most this many. When all
// are in use, small messages take the path of the large ones.
inline constexpr uint32_t qp_bounces  = 256;
inline constexpr uint32_t srq_bounces = 2048;
// Bounce buffers and CQ entries touched in advance: the first touch of a page costs 27 us.
inline constexpr uint32_t warm_bounces = 8;

// Concurrent executions of one process that can be told apart; further threads wait for a record.
inline constexpr uint32_t guards = 31;

// Requests of one process that others carry out for it at a time; each has a window through which its data
// goes, piece by piece.
inline constexpr uint32_t relays       = 1024;
inline constexpr uint64_t relay_window = 256 << 10;
inline constexpr uint64_t relay_piece  = 64 << 10;

inline constexpr size_t segment_bytes = 4ull << 30; // of address space, not of memory

} // namespace limits
} // namespace softrdma
