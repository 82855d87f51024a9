// SPDX-License-Identifier: BSD-3-Clause
//
// What processes share. The registry is one small file per user and domain; a segment is one process's
// device memory, an anonymous file that its peers map through /proc and that vanishes with the process.
// All offsets are relative to the segment. Fields that other processes change are atomic; all others
// are written by the owner before the object becomes visible (its `state`, `valid` or `key`).
#pragma once

#include "fabric_state.h"
#include "orders.h"
#include "port.h"
#include "shared_lock.h"
#include "sizes.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softrdma {

// ---- registry -----------------------------------------------------------------------------------

// One running execution of this process toward `target` (see guard.h): sequence << 16 | target slot
// << 1 | busy.
struct alignas(64) guard_record {
    std::atomic<uint64_t> word;
};

enum class link_layer : uint32_t {
    unknown,
    infiniband,
    ethernet
};

struct alignas(64) process_entry {
    std::atomic<uint64_t>
            generation; // of the device to be found here, 0 when there is none
    std::atomic<uint64_t>
            holder; // generation of the process that took the slot, until it is dead
    std::atomic<uint32_t> pid;
    int32_t segment_fd; // in the owner; opened as /proc/<pid>/fd/<n>
    int32_t doorbell_fd;
    uint32_t devices;
    uint64_t start_time; // tells a reused pid
    link_layer link;
};

struct registry_layout {
    uint64_t magic;
    uint64_t bytes;
    uint64_t last_generation; // under the file lock
    std::atomic<uint32_t> high_slot; // no slot above was ever taken
    process_entry entries[limits::processes];
    guard_record guards[limits::processes][limits::guards];
    port_shared ports[limits::processes][limits::devices];
    order_box orders[limits::processes];
    fabric_state fabric;
    port_shared departed[limits::devices]; // counters of processes whose slot was taken
};

// ---- completion queue ---------------------------------------------------------------------------

enum class queue_kind : uint8_t {
    none,
    send,
    receive,
    shared_receive
};

struct completion_head {
    uint32_t qp_num;
    uint32_t src_qp;
    uint32_t byte_len;
    uint32_t imm_data;
    uint32_t slot; // of the receive; for a send, its sequence number plus one
    uint16_t queue; // index of the QP or SRQ a receive belongs to
    uint16_t bounce; // 1 + index of the bounce buffer that holds the data, 0 if none, or `carried`
    uint8_t slid;
    uint8_t wc_flags;
    uint8_t opcode;
    uint8_t status : 5;
    uint8_t solicited : 1;
    queue_kind kind : 2; // none: to be skipped
};

// What a completion in a ring that carries its message does without.
struct completion_rest {
    uint64_t wr_id;
    uint64_t time; // now_ns() when it was added, if the queue wants that
};

struct completion : completion_head, completion_rest {};

// In `bounce`: the data came along with the completion.
inline constexpr uint16_t carried = UINT16_MAX;
static_assert((limits::srq_bounces < carried) && (limits::qp_bounces < carried) &&
              (limits::qps <= UINT16_MAX) && (limits::srqs <= UINT16_MAX) &&
              (limits::devices < UINT8_MAX));

// One completion in a ring, published by storing its position plus one in `turn` last. A small message travels in
// it, in the place of what its receiver knows or does not want: the smallest ones, of half a line, cost their
// receiver one cache line of their sender's, the others two.
struct alignas(128) cqe {
    std::atomic<uint32_t> turn;
    completion_head head;
    union {
        completion_rest rest;
        char message[limits::carried_bytes];
    };

    void set(const completion &entry)
    {
        head = entry;
        rest = entry;
    }

    // Part by part into its place: copied from a temporary, it would have to wait for that.
    void get(completion &entry) const
    {
        static_cast<completion_head &>(entry) = head;
        static_cast<completion_rest &>(entry) = rest;
    }
};
static_assert((sizeof(cqe) == 128) && (offsetof(cqe, message) == 32));

enum cq_armed : uint32_t {
    cq_not_armed,
    cq_armed_any,
    cq_armed_solicited
};

struct alignas(64) cq_shared {
    shared_lock lock; // producers; and the owner to arm, purge and resize
    std::atomic<uint32_t> valid;
    std::atomic<uint32_t> armed;
    uint32_t tail; // next position to be written
    uint32_t head_seen; // the producers' copy of head
    uint32_t capacity; // power of two
    uint32_t timed; // completions say when they were added
    int32_t notify_fd; // write end of the completion channel, -1 without one
    uint64_t ring; // offset of cqe[capacity]
    uint64_t channel; // identity of the channel, for caching its descriptor
    uint64_t cookie; // what is written to the channel
    // Events in the channel not yet read; beyond a few, further ones are merged (see cq_push.cpp).
    std::atomic<int32_t> unread;
    // What the owner looks at when it polls; producers seldom.
    alignas(64) std::atomic<uint32_t> head; // next position to be polled, the owner's
    std::atomic<uint32_t> overrun;
};

// ---- receive queues -----------------------------------------------------------------------------

struct shared_sge {
    uint64_t addr;
    uint32_t length;
    uint32_t lkey;
};

struct receive_slot {
    uint64_t wr_id;
    // Who took it from the queue, until it is polled; 0 if its data came along with the completion.
    std::atomic<owner_token> claimer;
    uint32_t num_sge;
    uint32_t total; // bytes of all elements
    uint32_t bounce; // what the claimer took for it, 0 if none

    shared_sge *sge() // max_sge of the queue follow
    {
        return reinterpret_cast<shared_sge *>(this + 1);
    }
};

// What the owner says of all receives that are posted: each has room for `bytes` in memory that is
// registered, as long as the segment's memory_epoch is `epoch` (see vouching.h).
struct vouched_receives {
    std::atomic<uint32_t> bytes;
    std::atomic<uint32_t> epoch;
};

// Lines are grouped by who writes them.
struct alignas(64) rq_shared {
    // Claimers. A queue all of whose completions go to one CQ has that one's lock instead (see lock_queue()).
    shared_lock lock;
    std::atomic<uint32_t> head; // next to be claimed, under the lock
    uint32_t tail_seen; // the claimers' copy of tail
    std::atomic<uint32_t> limit;
    std::atomic<uint32_t> limit_reached; // the owner raises the event and clears it

    // The owner, seldom.
    alignas(64) vouched_receives vouched;
    uint32_t cq; // index of the CQ whose lock is used, 0 for its own
    uint32_t pd; // the receive buffers' protection domain
    uint32_t capacity; // power of two, at least what was asked for
    uint32_t slot_bytes;
    uint32_t bounces;
    uint64_t fifo; // offset of uint32_t[capacity], slot numbers in posting order
    // Offsets of receive_slot[], slot_bytes apart, in chunks: a queue that grows does not move its slots. The
    // first one holds 2^first_chunk, each further one as many as all before it.
    uint32_t first_chunk;
    uint64_t slots[limits::slot_chunks];
    uint64_t next; // offset of uint32_t[bounces], the free list of bounce buffers
    uint64_t data; // offset of the bounce buffers

    alignas(64) std::atomic<uint32_t> tail; // next to be posted, the owner's
    alignas(64) std::atomic<uint64_t> free_bounce; // tag << 32 | 1 + index
};

// ---- queue pairs and memory regions -------------------------------------------------------------

// Whether a peer reached a queue pair before it was told that it may send.
enum contact_state : uint32_t {
    contact_none,
    contact_made, // to be reported as IBV_EVENT_COMM_EST
    contact_reported
};

struct alignas(64) qp_shared {
    std::atomic<uint32_t> state; // ibv_qp_state; RESET also while the QP does not exist
    uint32_t type;
    uint32_t device;
    uint32_t pd;
    uint32_t recv_cq;
    uint32_t srq; // index, 0 without one
    uint32_t dest_qpn;
    uint32_t dest_device; // of the connected peer
    uint32_t qkey;
    uint32_t access;
    uint32_t min_rnr_timer;
    uint32_t rq_psn;
    uint32_t rd_atomic; // READs and atomics it answers at a time
    std::atomic<uint32_t> cause; // 1 + async event that moved it to error, 0 if none
    std::atomic<uint32_t> contact; // a contact_state
    rq_shared rq;
};

enum class memory_kind : uint32_t {
    region,
    window, // type 1
    bound_window // type 2: for one queue pair
};

// A memory region or window.
struct alignas(64) mr_shared {
    std::atomic<uint32_t> key; // 0: not valid
    uint32_t pd;
    uint32_t access;
    memory_kind kind;
    uint64_t addr;
    uint64_t length;
    uint64_t iova;
    uint32_t qp_num; // that a bound window is for
    uint32_t region; // index of what a window opens
};

// ---- relayed requests ---------------------------------------------------------------------------

// What the owner of memory is asked to do where the system does not let the requester do it (see relay.h).
enum class relay_kind : uint32_t {
    write,
    write_with_immediate,
    read,
    swap,
    add,
    message
};

// The low bits of relay_shared::state; above them is the number of the request.
enum relay_phase : uint64_t {
    relay_free,
    relay_open,
    relay_done, // answered
    relay_abandoned // the requester gave up; the target says relay_free when it has let go
};
inline constexpr uint32_t relay_phase_bits = 2;
inline constexpr uint64_t relay_phase_mask = (1 << relay_phase_bits) - 1;

// Who sends a request, as its target checks it.
struct packet_source {
    uint32_t type; // ibv_qp_type
    uint32_t number;
    uint32_t device;
    uint32_t to_device;
    uint32_t psn;
    uint32_t qkey;
};

struct alignas(64) relay_shared {
    std::atomic<uint64_t> state;
    // The request, complete before it is open.
    uint64_t generation; // of the target process
    uint32_t slot;
    uint32_t qp; // index there
    packet_source from;
    relay_kind kind;
    uint32_t rkey;
    uint64_t addr;
    uint64_t length;
    uint64_t operand; // to be added, or to be compared with
    uint64_t swap;
    completion receive; // of the receive it takes, except for which one that is
    uint64_t window; // offset of relay_window bytes, through which the data goes in a circle
    // The answer, complete before it is done: an outcome::kind and an ibv_wc_status.
    uint32_t answer;
    uint32_t status;
    uint32_t rnr_timer;
    alignas(64) std::atomic<uint64_t> filled; // bytes put into the window
    alignas(64) std::atomic<uint64_t> drained; // bytes taken out of it
};

// ---- segment ------------------------------------------------------------------------------------

inline constexpr uint64_t relay_call = uint64_t{1} << 32;

struct segment_layout {
    uint64_t magic;
    uint64_t generation;
    uint64_t address; // where the owner has it: memory that is there as long as the owner lives
    uint32_t slot;
    std::atomic<uint32_t> memory_epoch; // counts regions that went away or changed
    // Grows when a peer leaves work for the owner: by one for something to look at, by relay_call for a
    // relayed request that got on.
    alignas(64) std::atomic<uint64_t> attention;
    std::atomic<uint64_t>
            visitors[limits::processes / 64]; // slots that attached to this segment
    std::atomic<uint64_t> callers[limits::processes / 64]; // slots whose requests got on
    std::atomic<uint32_t> high_relay; // no request at or above was ever made
    alignas(64) shared_lock atomics; // serialises remote atomics on this process's memory
    mr_shared mrs[limits::mrs];
    qp_shared qps[limits::qps];
    cq_shared cqs[limits::cqs];
    rq_shared srqs[limits::srqs];
    relay_shared relays[limits::relays];
    // the heap follows
};

template<class T>
T *at_offset(segment_layout *base, uint64_t offset)
{
    return reinterpret_cast<T *>(reinterpret_cast<char *>(base) + offset);
}

} // namespace softrdma
