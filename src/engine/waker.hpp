// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that looks after members who sleep while they share a fabric: it waits for the fabric's descriptors
// and has it look at its queues. It exists once a member of a shared fabric has gone to sleep.
//
// Why a thread: any member could watch the descriptors for all, but from the moment on at which it wakes up
// until it watches again, which is its worker's affair, nobody would.

#pragma once

#include <array>
#include <functional>
#include <thread>

namespace be::engine {

class Waker {
public:
    // `look` is called from the thread when one of `fds` is readable, and again every millisecond as long as
    // it returns true. Throws std::system_error.
    Waker(const std::array<int, 3> &fds, std::function<bool()> look);

    // Waits for a call that is under way. In a child of fork(), where the thread does not exist, for nothing.
    ~Waker();
    Waker(const Waker &)            = delete;
    Waker &operator=(const Waker &) = delete;

private:
    void run();

    const std::array<int, 3> m_fds;
    const std::function<bool()> m_look;
    const unsigned m_generation;
    int m_stop = -1;
    std::thread m_thread;
};

} // namespace be::engine
