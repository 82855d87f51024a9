// SPDX-License-Identifier: BSD-3-Clause
//
// A runtime's control thread: waits for the sockets of the exchange, so that no worker has
// to look at them. It runs nothing of the user's, and takes no worker's lock.
#pragma once

#include "adapter/timer_wheel.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace be::adapter::exchange {

class Loop {
public:
    // Somebody with a descriptor. On the loop's thread.
    class Watcher {
    public:
        virtual ~Watcher()                           = default;
        virtual void on_events(std::uint32_t events) = 0; // EPOLL*
    };

    // Throws Error when the system gives no descriptors.
    Loop();
    ~Loop();
    Loop(const Loop &)            = delete;
    Loop &operator=(const Loop &) = delete;

    // Runs what was posted, lets go of all watchers, ends the thread. Idempotent.
    void stop();

    // Any thread. Dropped, unrun, once the loop has stopped.
    void post(std::function<void()> function);

    // The same, and returns when it has run or was dropped.
    void run(std::function<void()> function);

    //
    // On the loop's thread
    //

    // Calls watcher.on_events() for `events` of `fd` until forget(). Its key, 0 on failure.
    std::uint64_t
    watch(int fd, std::uint32_t events, std::shared_ptr<Watcher> watcher) noexcept;
    void change(std::uint64_t key, int fd, std::uint32_t events) noexcept;
    void forget(std::uint64_t key, int fd) noexcept;

    TimerWheel timers{Clock::now()};

private:
    void main();
    void wake() noexcept;
    bool run_posted();

    int m_epoll              = -1;
    int m_wake               = -1;
    std::uint64_t m_next_key = 1;
    std::unordered_map<std::uint64_t, std::shared_ptr<Watcher>> m_watchers;

    std::mutex m_mutex;
    std::vector<std::function<void()>> m_posted;
    bool m_stopping = false; // under the mutex
    std::thread m_thread;
};

} // namespace be::adapter::exchange
