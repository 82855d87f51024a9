// SPDX-License-Identifier: BSD-3-Clause
//
// One worker of the process that be_mux measures: it streams bulk, or pings, or is idle. One thread at a time.

#pragma once

#include "mux_board.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace mux {

enum class Bulk {
    put,
    am
};

using Clock = std::chrono::steady_clock;

class Worker {
public:
    // Opens the worker and publishes its address, if it is the first.
    Worker(ucp_context_h context, Board &board, unsigned number, Bulk bulk);
    ~Worker();
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    // Starts to connect to all peers; connected() follows while there is progress.
    void connect();
    bool connected();
    // The peers make progress meanwhile.
    void disconnect();

    enum class Role {
        idle,
        pings,
        streams
    };

    // `peers`: whom it streams to, from the first on, if not to all.
    void start(Role role, unsigned first_peer = 0);
    // Whoever sleeps is woken by what he waits for, so there is nothing to be told but to post no more.
    void stop() noexcept
    {
        m_stopping = true;
    }

    // Posts what it may, and progress. False: nothing happened.
    bool step();
    // After stop(): nothing is under way.
    bool done();
    // Sleeps until something happens.
    void sleep();

    // Tells the slow peer to make no progress.
    void stop_peer();
    // Tells all peers what has to be there.
    void finish();

    bool idle() const noexcept
    {
        return m_role == Role::idle;
    }

    // Since start()
    std::uint64_t bytes() const noexcept
    {
        return m_bytes;
    }
    const std::vector<double> &latencies() const noexcept // half round trips, us
    {
        return m_latencies;
    }

private:
    struct Slot {
        ucs_status_ptr_t request = nullptr;
        std::uint64_t stamp      = 0; // of the last operation
        Header header;
        std::vector<std::uint64_t> words;
    };

    struct Lane {
        ucp_ep_h ep            = nullptr;
        ucp_rkey_h key         = nullptr;
        std::uint64_t remote   = 0;
        std::uint32_t messages = 0;
        Last last;
        std::array<Slot, num_slots> slots;
    };

    static ucs_status_t on_pong(void *arg, const void *, std::size_t, void *, std::size_t,
                                const ucp_am_recv_param_t *);
    void ping();
    bool look_after(Lane &lane, Slot &slot);
    void post(Lane &lane, Slot &slot);
    void flush();
    bool ended(ucs_status_ptr_t &request, const char *what);

    Board &m_board;
    const unsigned m_number;
    const Bulk m_bulk;
    ucp_worker_h m_worker;
    std::array<Lane, num_peers> m_lanes;
    std::array<ucs_status_ptr_t, num_peers> m_requests{}; // to connect, to flush
    Role m_role           = Role::idle;
    unsigned m_first_peer = 0;
    bool m_stopping       = false;
    bool m_flushing       = false;
    std::uint64_t m_bytes = 0;
    const Header m_ping_header{};
    const std::array<char, ping_size> m_ping{};
    ucs_status_ptr_t m_ping_request = nullptr;
    bool m_waits                    = false; // for a pong
    bool m_got_pong                 = false;
    Clock::time_point m_pinged;
    std::vector<double> m_latencies;
};

} // namespace mux
