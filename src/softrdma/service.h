// SPDX-License-Identifier: BSD-3-Clause
//
// The service thread: what must happen although the application does not call. It retries sends that
// wait for a receive or for a silent peer, notices the death of peers, and acts on what peers report.
// It sleeps otherwise, and is not started before there is something it could have to do.
//
// Thread rules: any thread. Polling threads call retry_due() too, so that a retry does not have to wait
// for the service thread to be scheduled.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

namespace softrdma {

class process;
class queue_pair;

class service {
public:
    explicit service(process &owner) : m_owner(owner)
    {
    }
    ~service();
    service(const service &)            = delete;
    service &operator=(const service &) = delete;

    // Creates the doorbell and the descriptors. False with a message in `error`.
    bool open(std::string &error);

    int doorbell_fd() const
    {
        return m_doorbell[1];
    }

    // Starts the thread if it does not run yet.
    void start();

    // Makes it look at its timers again.
    void wake();

    // Reports to the peer table when the process that holds the slot is dead. False when it is already.
    bool watch(uint32_t slot, uint64_t generation, pid_t pid);

    // A queue pair whose send queue has to be looked at again at its deadline(); each change of that is
    // told to retry_at().
    void retry_at(uint64_t when);
    void add_waiting(std::shared_ptr<queue_pair> qp);
    void remove_waiting(const queue_pair *qp);

    bool any_waiting() const
    {
        return m_waiting_count.load(std::memory_order_relaxed) != 0;
    }

    // Runs the queue pairs that are due.
    void retry_due();

    // The application asked for an event and stops polling: from now on the thread is on time, until it polls again.
    void expect_sleep();

private:
    void run();
    void follow_death(uint64_t key);
    bool retry_due(uint64_t time);
    void adapt_head_start(bool any_due);
    void set_timer();
    void arm(uint64_t when);

    process &m_owner;
    int m_doorbell[2] = {-1, -1};
    int m_epoll       = -1;
    int m_timer       = -1;
    std::mutex m_mutex;
    bool m_started = false;
    std::vector<std::shared_ptr<queue_pair>> m_waiting;
    std::atomic<uint32_t> m_waiting_count{0};
    std::atomic<uint64_t> m_armed{UINT64_MAX}; // when the timer fires
    std::atomic<uint64_t> m_head_start{0}; // ns that polling threads are left
    std::unordered_map<uint64_t, int> m_watched; // pidfds, by key
};

} // namespace softrdma
