// SPDX-License-Identifier: BSD-3-Clause
//
// A receive pool whose invariants are checked after each step, and shorthands for tests.

#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "core/receive_pool.hpp"

namespace be::test {

class Pool {
public:
    explicit Pool(const core::ReceivePoolConfig &config) : pool(config)
    {
    }

    uint32_t join()
    {
        auto peer = pool.join();

        BOOST_REQUIRE(peer.has_value());
        check();
        return *peer;
    }

    void leave(uint32_t peer)
    {
        pool.leave(peer);
        check();
    }

    /* `count` messages arrive; their receives stay in hand. */
    void arrive(uint32_t peer, uint32_t count = 1)
    {
        for (; count != 0; --count) {
            BOOST_REQUIRE(pool.on_arrival(peer));
            check();
        }
    }

    void repost(uint32_t count = 1)
    {
        pool.on_repost(count);
        check();
    }

    /* The sender has used all it was granted and has `queued` more messages. */
    void request(uint32_t peer, uint32_t queued)
    {
        pool.on_request(peer, pool.granted(peer) + queued);
        check();
    }

    uint32_t left(uint32_t peer) const
    {
        return pool.granted(peer) - pool.arrived(peer);
    }

    std::vector<uint32_t> answers()
    {
        std::vector<uint32_t> peers;

        for (uint32_t peer = pool.next_answer(); peer != core::ReceivePool::none;
             peer          = pool.next_answer()) {
            peers.push_back(peer);
        }
        return peers;
    }

    std::vector<uint32_t> cells()
    {
        std::vector<uint32_t> peers;

        for (uint32_t peer = pool.next_cell(); peer != core::ReceivePool::none;
             peer          = pool.next_cell()) {
            peers.push_back(peer);
        }
        return peers;
    }

    void check() const
    {
        BOOST_REQUIRE_EQUAL(pool.check(), "");
    }

    core::ReceivePool pool;
};

using Peers = std::vector<uint32_t>;

} // namespace be::test
