// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for a fabric's event descriptor as a sleeping worker does, and what that costs.

#pragma once

#include "world.hpp"

#include <ctime>
#include <poll.h>

namespace test {

// A wake-up that has not come after this time, in ms, is lost.
inline constexpr int lost_after = 20000;

// Used so far by the thread (CLOCK_THREAD_CPUTIME_ID) or process (CLOCK_PROCESS_CPUTIME_ID).
inline double cpu_seconds(clockid_t clock)
{
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Until something happens. False: nothing did within `timeout` ms.
inline bool await_event(Node &node, int timeout = lost_after)
{
    be_status_t status;
    while ((status = be_fabric_arm(node.fabric)) == BE_ERR_BUSY) {
        if (be_fabric_progress(node.fabric) != 0) {
            return true;
        }
    }
    if (status != BE_OK) {
        return false;
    }
    pollfd descriptor{be_fabric_event_fd(node.fabric), POLLIN, 0};
    return ::poll(&descriptor, 1, timeout) == 1;
}

} // namespace test
