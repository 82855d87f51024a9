// SPDX-License-Identifier: BSD-3-Clause
//
// A thread that polls a node as fast as it can, as a worker does while data goes over the channel.
#pragma once

#include "control/node.hpp"

#include <stop_token>
#include <thread>

namespace be::control::test {

class Poller {
public:
    // `wanted`: else it does nothing.
    Poller(Node &node, bool wanted)
    {
        if (wanted) {
            m_thread = std::jthread([&node](const std::stop_token &stop) {
                while (!stop.stop_requested()) {
                    node.poll();
                    std::this_thread::yield();
                }
            });
        }
    }

private:
    std::jthread m_thread;
};

} // namespace be::control::test
