// SPDX-License-Identifier: BSD-3-Clause
//
// One flow with room for all its actions, for tests that play the driver by hand.

#pragma once

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "core/flow.hpp"

namespace be::test {

struct FlowFixture {
    explicit FlowFixture(const core::FlowConfig &config) : flow(config)
    {
    }

    /* A peer in a connection that is set up: it has granted us `total`. */
    uint32_t join(uint32_t total)
    {
        auto peer = flow.join(now);

        BOOST_REQUIRE(peer.has_value());
        flow.told(*peer);
        flow.credit_update(*peer, total, now, actions);
        return *peer;
    }

    /* Takes what was asked so far; the invariants must hold. */
    std::vector<core::Action> taken()
    {
        std::vector<core::Action> result(actions.begin(), actions.end());

        actions.clear();
        BOOST_REQUIRE_EQUAL(flow.check(), "");
        return result;
    }

    core::DataHeader send(uint32_t peer)
    {
        core::DataHeader header;

        BOOST_REQUIRE(flow.admit_message(peer));
        flow.stamp(peer, header);
        return header;
    }

    core::Flow flow;
    std::array<core::Action, 64> storage;
    core::Actions actions{storage};
    uint64_t now = 0;
};

using Taken = std::vector<core::Action>;

} // namespace be::test
