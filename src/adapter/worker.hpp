// SPDX-License-Identifier: BSD-3-Clause
//
// One UCP worker, its lock, its thread, and what happens on it.
//
// UCP is called under the lock only. The thread makes progress; so does any thread that
// waits for a call (Helper), which saves two wake-ups a call. While somebody helps, the
// worker's thread stays out of the way: it looks again every lease.
//
// No code of the user runs under the lock: requests wait in two queues for the worker's
// thread, finished calls in a third for whoever made progress.
#pragma once

#include "adapter/context.hpp"
#include "adapter/counter.hpp"
#include "adapter/endpoint.hpp"
#include "adapter/exchange/loop.hpp"
#include "adapter/exchange/secret.hpp"
#include "adapter/posted.hpp"
#include "adapter/timer_wheel.hpp"

#include <byteexpress/runtime.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace be::adapter {

class Completion;
class RequestState;

// Changed under the lock, or by the thread alone (sleeps, requests).
struct WorkerCounters {
    Counter<uint64_t> sent;
    Counter<uint64_t> received;
    Counter<uint64_t> sleeps;
    Counter<uint64_t> failures;
    Counter<uint64_t> violations;
    Counter<uint64_t> calls;
    Counter<uint64_t> retries;
    Counter<uint64_t> requests;
};

class Worker : public std::enable_shared_from_this<Worker> {
public:
    // How long the thread stays away after somebody has made progress for it.
    static constexpr std::chrono::milliseconds lease{1};

    Worker(std::shared_ptr<Context> context, const RuntimeOptions &options,
           std::shared_ptr<exchange::Loop> loop, exchange::Secret secret);
    ~Worker();
    Worker(const Worker &)            = delete;
    Worker &operator=(const Worker &) = delete;

    // Starts the thread; `prepare` is the first that runs on it.
    void start(std::function<void()> prepare);

    // Fails all connections, ends the thread. Afterwards posted work still runs, on the
    // thread that posts it.
    void stop();

    //
    // Any thread, without the lock
    //

    // Runs `item` under the lock: now if it is free, else soon, by whoever holds it.
    void post(Posted &item);
    void post(std::function<void()> function);

    // The same, but never now: for a thread that must run nothing of the user's.
    void hand_over(std::function<void()> function);

    // The same, and returns when it has run. Not from under the lock.
    void run(const std::function<void()> &function);

    // Somebody makes progress in a loop: from construction until destruction.
    class Helper {
    public:
        explicit Helper(Worker &worker);
        ~Helper();
        Helper(const Helper &)            = delete;
        Helper &operator=(const Helper &) = delete;

        // One round. False when nothing happened.
        bool progress();

    private:
        Worker &m_worker;
        unsigned m_idle = 0; // rounds without anything
    };

    // The one whose thread this is; nullptr on other threads.
    static Worker *current() noexcept;

    // On the worker's own thread, for a handler that waits for something of `other`, which
    // may be this one: makes progress on both, or sleeps. Handlers that have to wait are
    // not run meanwhile.
    void attend(Worker &other, Clock::time_point &idle_since);

    // One round for whoever waits here. False when nothing happened or the lock is taken.
    bool help();

    const RuntimeOptions &options() const noexcept
    {
        return m_options;
    }

    // Nothing can be connected any more.
    bool stopped() const noexcept
    {
        return m_stop.load(std::memory_order_acquire);
    }

    // Of the runtime: where the exchange of addresses runs, and its secret.
    const std::shared_ptr<exchange::Loop> &loop() const noexcept
    {
        return m_loop;
    }
    const exchange::Secret &secret() const noexcept
    {
        return m_secret;
    }

    // UCP's address of this worker.
    const std::vector<std::byte> &address() const noexcept
    {
        return m_address;
    }

    // What a link of `endpoint` calls when it has ended.
    exchange::Link::Down link_down(const std::shared_ptr<Endpoint> &endpoint);

    WorkerCounters counters;

    // Keeps data of a message alive, as its descriptor or as a copy.
    Body keep(Incoming &message);

    //
    // Under the lock
    //

    ucp_worker_h handle() const noexcept
    {
        return m_worker;
    }

    // Gives the endpoint a number: messages, fail() and close() reach it from now on. False
    // when the worker has stopped.
    bool enroll(const std::shared_ptr<Endpoint> &endpoint);

    // UCP pairs the n-th endpoint from one worker to another with the n-th of the opposite
    // direction; when they differ, an endpoint is paired with one that is closed already.
    // So both sides agree on a turn, n. Here: how many this worker has made to the one
    // with that address.
    using AddressBytes = std::span<const std::byte>;
    uint32_t turns(AddressBytes address);

    // Creates the UCP endpoint of one that is enrolled, as the turn-th (at least turns()).
    // The text says why not; nothing else happens then.
    std::string
    connect(Endpoint &endpoint, AddressBytes address, uint64_t peer, uint32_t turn);

    // Takes connect() back: the endpoint stays enrolled.
    void disconnect(Endpoint &endpoint);

    // Graceful: what was sent is delivered first. Nothing is heard of it any more.
    void close(Endpoint &endpoint);

    // At once. on_failure() follows, later in this round.
    void fail(Endpoint &endpoint, const std::string &why);

    // As fail(): the other side is gone. What it has sent before is taken first. Does not
    // count as a failure when it went in order.
    void lost(Endpoint &endpoint, const std::string &why, bool in_order);

    // All connections, as fail().
    void fail_all(const std::string &why);

    // Calls out.done exactly once, possibly before it returns.
    void send(Endpoint &endpoint, Outgoing &out);

    // Fetches a remote body to `to`; calls done(status) once, possibly at once.
    using Received = std::function<void(ucs_status_t)>;
    void receive(Incoming &message, void *to, Received done);

    // It is completed as soon as the lock is released.
    void finished(Completion &what) noexcept;

    // `request` is complete: its handler runs on the worker's thread.
    void arrived(std::shared_ptr<RequestState> request, bool bulk);

    // Calls under way, changed by so many. While there are some, a helper that leaves
    // wakes the thread.
    void expect(int change) noexcept
    {
        m_expected.add(change);
    }

    // Connections of servers, changed by so many. While there are some, the thread does
    // not leave its work to helpers.
    void serve(int change) noexcept
    {
        m_serving.fetch_add(change, std::memory_order_relaxed);
    }

    // The time, as it was read first in this round, or since the lock was taken.
    Clock::time_point now()
    {
        if (!m_now) {
            m_now = Clock::now();
        }
        return *m_now;
    }

    TimerWheel timers{Clock::now()};
    std::unordered_set<Resident *> residents;

private:
    enum class Rest {
        awake,
        lent, // looks again when the lease ends
        asleep // until it is woken, by the transport or by wake()
    };

    void lock();
    bool try_lock();
    void unlock_and_settle();
    void thread_main();
    bool drive();
    void idle(Clock::time_point &since, unsigned &rounds);
    void stop_residents();
    void sleep();
    void lend();
    void rest(Rest kind, int timeout_ms) noexcept;
    void wake() noexcept;
    void run_requests(Clock::time_point now);
    void end();
    unsigned round();
    unsigned bury();
    ucs_status_t on_active_message(const void *header, size_t header_length, void *data,
                                   size_t length, const ucp_am_recv_param_t *param);
    void destroy(Endpoint &endpoint, const std::string &why);
    bool discard(ucp_ep_h ep, std::function<void()> closed);
    ucs_status_t create(AddressBytes address, Endpoint *owner, ucp_ep_h *ep);
    void on_settled(ucp_ep_h ep);

    // A UCP endpoint that is being paired with the other side's. UCX 1.13 aborts when one
    // is closed with messages about that pending, so closing waits for a moment.
    struct Settling : Timer {
        Settling(Worker &owner, ucp_ep_h which);
        Worker &worker;
        const ucp_ep_h ep;
        std::function<void()> closed; // set: is to be closed
    };

    struct Failure {
        std::shared_ptr<Endpoint> endpoint;
        std::string why;
        bool in_order = false;
    };

    const std::shared_ptr<Context> m_context;
    const RuntimeOptions m_options;
    const std::shared_ptr<exchange::Loop> m_loop;
    const exchange::Secret m_secret;
    std::vector<std::byte> m_address;
    ucp_worker_h m_worker = nullptr;
    int m_transport_fd    = -1;
    int m_wake_fd         = -1;

    PostedQueue m_posted;
    std::mutex m_mutex;

    // under the lock
    std::unordered_map<uint64_t, std::shared_ptr<Endpoint>> m_endpoints; // by number
    std::unordered_map<uint64_t, uint32_t> m_turns; // by UCP's number of the other worker
    std::vector<Failure> m_failed;
    std::unordered_map<ucp_ep_h, std::unique_ptr<Settling>> m_settling;
    std::vector<std::unique_ptr<Settling>> m_settled; // and to be closed
    std::unordered_set<std::shared_ptr<Endpoint>> m_leaving; // being flushed
    std::vector<std::shared_ptr<Endpoint>> m_flushed;
    unsigned m_closing     = 0; // UCP endpoints whose close has not ended
    Completion *m_finished = nullptr; // last first
    std::optional<Clock::time_point> m_now; // once it was read
    std::deque<std::shared_ptr<RequestState>> m_arrived;
    std::deque<std::shared_ptr<RequestState>> m_arrived_bulk;

    std::atomic<Rest> m_rest   = Rest::awake;
    std::atomic<int> m_helpers = 0;
    std::atomic<bool> m_helped = false; // since the thread looked last
    Counter<int> m_expected; // changed under the lock
    std::atomic<int> m_serving = 0;
    std::atomic<bool> m_stop   = false;
    std::thread m_thread;
    std::vector<std::shared_ptr<RequestState>> m_batch; // the thread's
};

} // namespace be::adapter
