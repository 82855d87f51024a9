// SPDX-License-Identifier: BSD-3-Clause
//
// What the processes of be_mux agree on: memory that they share, messages, and what bulk looks like.

#pragma once

#include "lib/node.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/types.h>

namespace mux {

inline constexpr unsigned num_workers  = 8;
inline constexpr unsigned num_peers    = 4;
inline constexpr unsigned slow_peer    = 3; // the one that stops
inline constexpr unsigned num_slots    = 4; // operations of a worker under way to a peer
inline constexpr std::size_t ping_size = 64; // bytes

enum AmId : unsigned {
    am_ping = 1,
    am_pong,
    am_bulk,
    am_stop, // make no progress until Board::resume
    am_last // the worker sends no more; carries what has to be there
};

// In front of each message.
struct Header {
    std::uint16_t worker   = 0;
    std::uint16_t slot     = 0; // of the worker's, for bulk
    std::uint32_t sequence = 0; // of the bulk messages of this worker to this peer, from 1
};

// Of am_last.
struct Last {
    std::uint64_t messages                      = 0;
    std::array<std::uint64_t, num_slots> stamps = {}; // of the last put; 0: none
};

struct Blob {
    std::uint32_t length = 0;
    std::array<char, 4096> bytes{};

    void set(const std::string &text);
    std::string get() const
    {
        return {bytes.data(), length};
    }
};

// Shared by all processes.
struct Board {
    explicit Board(std::size_t bulk_size);

    std::size_t size; // bytes of a bulk operation
    pthread_barrier_t all; // the process under test and its peers
    pthread_barrier_t resume; // that process and the slow peer
    Blob pinger; // address of the worker that pings
    std::array<Blob, num_peers> addresses, keys;
    std::array<pid_t, num_peers> pids{};
    // Leaving: the process under test has closed its endpoints; so have so many peers.
    std::atomic<bool> closed{false};
    std::atomic<unsigned> left{0};
    std::atomic<std::uint64_t> kept{0}, copied{0}; // messages that the slow peer got
};

// A bulk operation's bytes: words that depend on worker and slot, the first and the last of them the stamp, which
// differs from operation to operation.
void fill(std::uint64_t *words, std::size_t bytes, unsigned worker, unsigned slot);
void stamp(std::uint64_t *words, std::size_t bytes, std::uint64_t value) noexcept;
// Throw std::runtime_error saying what is wrong: with the stamps, with any word.
void check_stamp(const void *data, std::size_t bytes, unsigned worker, unsigned slot,
                 std::uint64_t value);
void check_bulk(const void *data, std::size_t bytes, unsigned worker, unsigned slot,
                std::uint64_t value);

// What a context and its workers need; `workers_shared`: several threads use workers of the context.
ucp_context_h open_context(bool workers_shared);
ucp_worker_h open_worker(ucp_context_h context);
std::string address_of(ucp_worker_h worker);
ucp_ep_h connect(ucp_worker_h worker, const Blob &address);
void on_message(ucp_worker_h worker, AmId id, ucp_am_recv_callback_t handler, void *arg);
// Header and data stay the caller's, as they are, until the request is complete.
ucs_status_ptr_t
send(ucp_ep_h ep, AmId id, const Header &header, const void *data, std::size_t length);
void close(ucp_worker_h worker, ucp_ep_h ep);

// The process of a peer, until every worker has sent its last message and all of it was right.
int run_peer(Board &board, unsigned index, bool keeps);

} // namespace mux
