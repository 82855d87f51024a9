// SPDX-License-Identifier: BSD-3-Clause
//
// The process's node with a listening port, for tests that connect fabrics through it.
#pragma once

#include "recorder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace be::control::test {

struct NodeFixture {
    std::shared_ptr<Node> node = Node::acquire();
    Address port               = node->listen("127.0.0.1");

    std::uint64_t closed(Reason reason)
    {
        return node->counters().closed[static_cast<std::size_t>(reason)];
    }
};

inline void expect_established(Recorder &client, Recorder &server)
{
    server.next(Happening::Kind::connect);
    client.next(Happening::Kind::accept);
    server.next(Happening::Kind::ready);
}

} // namespace be::control::test
