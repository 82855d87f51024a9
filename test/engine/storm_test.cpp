// SPDX-License-Identifier: BSD-3-Clause
//
// Many peers of one fabric lose their queue pairs at once: no more of them begin to recover at a time than may, each gets
// its turn, and one that does not answer takes nobody's turn away for long.

#define BOOST_TEST_MODULE storm
#include "pair.hpp"
#include "waiting.hpp"

using namespace test;

namespace {

be_fabric_config_t small(const Device &device, unsigned max_recoveries)
{
    be_fabric_config_t config = quick(device);
    config.segment_size       = 1024;
    config.rx_capacity        = 4;
    config.rx_max             = 1024;
    config.tx_queue           = 16;
    config.max_recoveries     = max_recoveries;
    return config;
}

class Hub {
public:
    Hub(Device &device, unsigned count, unsigned max_recoveries) :
        node(device, small(device, max_recoveries))
    {
        for (unsigned i = 0; i < count; ++i) {
            spokes.push_back(
                    std::make_unique<Node>(device, small(device, max_recoveries)));
            (void)node.connect(*spokes.back());
        }
        exchange();
    }

    be::engine::Peer &peer(unsigned i)
    {
        return static_cast<be::engine::Link *>(node.peers[i])->peer;
    }

    // A message to each arrives.
    void exchange()
    {
        std::vector<size_t> before;
        for (const auto &spoke : spokes) {
            before.push_back(spoke->received.size());
        }
        std::vector<bool> sent(spokes.size());
        BOOST_REQUIRE(until([&] {
            bool all = true;
            for (unsigned i = 0; i < spokes.size(); ++i) {
                sent[i] = sent[i] || send(i);
                all     = all && spokes[i]->received.size() > before[i];
            }
            return all;
        }));
    }

    bool send(unsigned i)
    {
        return be_am_short(node.peers[i], 1, i, nullptr, 0) == BE_OK;
    }

    // All at once, and found out by sending.
    void fail()
    {
        for (unsigned i = 0; i < spokes.size(); ++i) {
            (void)peer(i).messages.qp().to_error();
            BOOST_REQUIRE(send(i));
        }
    }

    // Without those that are deaf.
    bool until(const std::function<bool()> &done, unsigned deaf = 0)
    {
        return wait({&node}, [&] {
            for (unsigned i = deaf; i < spokes.size(); ++i) {
                be_fabric_progress(spokes[i]->fabric);
            }
            return done();
        });
    }

    unsigned in_state(be::core::RecoveryState state)
    {
        unsigned count = 0;
        for (unsigned i = 0; i < spokes.size(); ++i) {
            count += peer(i).recovery.state() == state;
        }
        return count;
    }

    unsigned under_way()
    {
        return in_state(be::core::RecoveryState::recovering) +
               in_state(be::core::RecoveryState::rewired);
    }

    Node node;
    std::vector<std::unique_ptr<Node>> spokes;
};

} // namespace

BOOST_AUTO_TEST_CASE(no_more_begin_at_once_than_may)
{
    constexpr unsigned count = 100, limit = 8;
    Device device;
    Hub hub(device, count, limit);
    hub.fail();
    unsigned most = 0, broken = 0;
    BOOST_REQUIRE(hub.until([&] {
        most   = std::max(most, hub.under_way());
        broken = std::max(broken, hub.in_state(be::core::RecoveryState::broken));
        return hub.node.metric("recoveries") == count;
    }));
    BOOST_CHECK_EQUAL(most, limit);
    BOOST_CHECK_GT(broken, count / 2); // they did fail together
    hub.exchange();
    BOOST_CHECK_EQUAL(hub.node.metric("paths_lost"), count);
    for (const auto &spoke : hub.spokes) {
        BOOST_CHECK_EQUAL(spoke->received.size(), 3);
        BOOST_CHECK_EQUAL(spoke->metric("rnr"), 0);
    }
}

// Who fails again and again is behind those that wait.
BOOST_AUTO_TEST_CASE(each_gets_its_turn)
{
    constexpr unsigned count = 20;
    Device device;
    Hub hub(device, count, 1);
    hub.fail();
    auto &first = hub.peer(0);
    BOOST_REQUIRE(hub.until([&] {
        if (first.state == be::engine::Peer::State::ready) {
            (void)first.messages.qp().to_error();
            (void)hub.send(0);
        }
        for (unsigned i = 1; i < count; ++i) {
            if (hub.peer(i).begun_at == 0) {
                return false;
            }
        }
        return true;
    }));
    BOOST_CHECK_GE(first.recovery.stats().completed, 1);
    BOOST_CHECK_LE(first.recovery.stats().completed, 2);
    BOOST_REQUIRE(hub.until([&] { return hub.node.metric("peers_ready") == count; }));
    hub.exchange();
}

BOOST_AUTO_TEST_CASE(who_does_not_answer_is_not_waited_for)
{
    constexpr unsigned count = 6, limit = 2;
    Device device;
    Hub hub(device, count, limit);
    hub.fail();
    // The first ones do not answer. All others wait for them and hear nothing meanwhile: the hub may sleep.
    BOOST_REQUIRE(
            hub.until([&] { return hub.peer(count - 1).recovery.waits_for_permission(); },
                      limit));
    BOOST_CHECK_EQUAL(hub.in_state(be::core::RecoveryState::recovering), limit);
    BOOST_REQUIRE(await_event(hub.node));
    BOOST_CHECK(hub.until([&] { return hub.node.metric("recoveries") == count - limit; },
                          limit));
    BOOST_CHECK_EQUAL(hub.under_way(), limit);
    BOOST_CHECK(hub.until([&] { return hub.node.metric("recoveries") == count; }));
    hub.exchange();
}
