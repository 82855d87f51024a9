// SPDX-License-Identifier: BSD-3-Clause
//
// A channel: its queue, its connection, and what becomes of calls.
//
// Why no call that is not idempotent runs twice: a request is sent again only
//   - when the server refused it (overloaded, draining), which it does before the handler;
//   - or when it was never handed to UCP.
// Once it was handed to UCP and the connection fails, whether it ran is unknown: the call
// ends with connection_lost. Within one connection a request has one id, is sent once, UCP
// delivers once, and the server cuts a connection off that uses an id twice at a time.
#pragma once

#include "adapter/address.hpp"
#include "adapter/call_state.hpp"
#include "adapter/connection.hpp"
#include "adapter/counter.hpp"
#include "adapter/worker.hpp"

#include <list>
#include <random>

namespace be::adapter {

// Changed under the worker's lock.
struct ChannelCounters {
    Counter<uint64_t> calls;
    Counter<uint64_t> retries;
    Counter<uint64_t> connects;
    Counter<uint64_t> failures;
    Counter<uint64_t> restarts;
    Counter<uint64_t> active; // submitted, not ended
    Counter<uint64_t> queued;
};

class ChannelState : public std::enable_shared_from_this<ChannelState>, public Resident {
public:
    ChannelState(std::shared_ptr<Worker> worker, const ChannelOptions &options);

    Worker &worker() const noexcept
    {
        return *m_worker;
    }
    const ChannelOptions &options() const noexcept
    {
        return m_options;
    }
    const Address &address(size_t index) const noexcept
    {
        return m_addresses[index];
    }

    ChannelCounters counters;

    //
    // Under the worker's lock
    //

    void submit(CallState &call);
    void dispatch(CallState &call, Clock::time_point now); // or by way of the queue
    void close();
    void on_stop() override;
    void end(CallState &call, Status status, std::string text);

    // What happens to calls
    void on_sent(CallState &call, ucs_status_t status);
    void on_received(CallState &call, ucs_status_t status);
    void on_answered(CallState &call); // with success, and the response is there
    void on_refusal(CallState &call, Status status, std::string text);
    void on_lost(CallState &call, const std::string &why);
    void on_deadline(CallState &call);
    void on_cancel(CallState &call);

    // What happens to connections
    void on_ready(Connection &connection);
    void on_answer(Connection &connection);
    void on_draining(Connection &connection);
    void on_failed(Connection &connection, const std::string &why, bool was_ready);

private:
    struct BackoffTimer : Timer {
        BackoffTimer(ChannelState &owner, Fire fire) : Timer(fire), channel(owner)
        {
        }
        ChannelState &channel;
    };

    std::list<CallState *> &queue_of(const CallState &call) noexcept;
    void enqueue(CallState &call);
    void leave(CallState &call, bool tell); // queue, table or pause
    void finish(CallState &call);
    void retry(CallState &call, Status status, std::string text);
    void connect();
    void not_connected(size_t address, const std::string &why, bool was_ready);
    void count_round(const std::string &why);
    void pump();
    Clock::duration backoff(unsigned turn);

    const std::shared_ptr<Worker> m_worker;
    const ChannelOptions m_options;
    std::vector<Address> m_addresses;
    std::vector<uint64_t> m_incarnations; // last known of each address; 0: none
    std::shared_ptr<Connection> m_current; // connecting or ready
    size_t m_next       = 0; // address to try next
    size_t m_tried      = 0; // addresses that failed since the last answer
    unsigned m_rounds   = 0; // times that all of them did
    bool m_closed       = false;
    CallState *m_active = nullptr; // calls that have not ended
    std::list<CallState *> m_queue;
    std::list<CallState *> m_bulk_queue;
    std::list<CallState *> m_spare; // nodes, so that queueing seldom allocates
    BackoffTimer m_backoff;
    std::minstd_rand m_random;
};

} // namespace be::adapter
