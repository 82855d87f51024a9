// SPDX-License-Identifier: BSD-3-Clause
//
// More peers than receives, all of which send, each as soon as it can: everybody is served, and what is told for it
// stays in proportion. Notices travel in batches, as they do where completions are polled: a sender sees all that
// has come before it tries again.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/flow.hpp"

using namespace be::core;

namespace {

struct Leaf {
    explicit Leaf(const FlowConfig &config) : flow(config)
    {
    }

    Flow flow;
    uint32_t hub  = 0; /* its index there */
    uint32_t peer = 0; /* the hub's index here */
    uint32_t sent = 0;
    std::deque<Notice> to_hub, from_hub;
};

class Crowd {
public:
    Crowd(uint32_t receives, uint32_t peers) : m_config(config(receives)), m_hub(m_config)
    {
        for (uint32_t i = 0; i < peers; ++i) {
            m_leaves.push_back(std::make_unique<Leaf>(m_config));
            Leaf &leaf = *m_leaves.back();

            leaf.hub  = *m_hub.join(m_now);
            leaf.peer = *leaf.flow.join(m_now);
            m_hub.told(leaf.hub);
            tell(leaf);
        }
        m_hub.drain(m_actions);
        execute();
    }

    /* Each leaf sends so many. Rounds until all have; 0: `most` were not enough. */
    uint32_t run(uint32_t each, uint32_t most)
    {
        for (uint32_t round = 1; round <= most; ++round) {
            bool done = true;

            m_now += 1000;
            for (auto &leaf : m_leaves) {
                hear(*leaf);
                send(*leaf, each);
                done &= leaf->sent == each;
            }
            answer();
            if (done) {
                return round;
            }
        }
        return 0;
    }

    FlowStats stats() const
    {
        return m_hub.stats();
    }

    uint32_t fewest() const
    {
        return (*std::min_element(m_leaves.begin(), m_leaves.end(),
                                  [](const auto &a, const auto &b) {
                                      return a->sent < b->sent;
                                  }))
                ->sent;
    }

private:
    static FlowConfig config(uint32_t receives)
    {
        FlowConfig config;

        config.pool.capacity = config.pool.max_capacity = receives;
        config.pool.revoke                              = true;
        return config;
    }

    void tell(Leaf &leaf)
    {
        leaf.flow.credit_update(leaf.peer, m_hub.granted(leaf.hub), m_now, m_actions);
        follow(leaf);
    }

    void follow(Leaf &leaf)
    {
        for (const Action &action : m_actions) {
            if (action.kind == Action::send_request) {
                leaf.to_hub.push_back({Notice::request, action.value});
            } else if (action.kind == Action::send_return) {
                leaf.to_hub.push_back({Notice::give_back, action.value});
            }
        }
        m_actions.clear();
    }

    void hear(Leaf &leaf)
    {
        for (; !leaf.from_hub.empty(); leaf.from_hub.pop_front()) {
            const Notice notice = leaf.from_hub.front();

            if (notice.kind == Notice::grant) {
                leaf.flow.answered(leaf.peer, notice.value, m_now, m_actions);
            } else {
                leaf.flow.revoked(leaf.peer, notice.value, m_now, m_actions);
            }
            follow(leaf);
        }
        tell(leaf); /* the cell */
    }

    void send(Leaf &leaf, uint32_t each)
    {
        if (leaf.sent == each) {
            return;
        }
        if (!leaf.flow.admit_message(leaf.peer)) {
            leaf.flow.blocked(leaf.peer, 1, m_now, m_actions);
            follow(leaf);
            return;
        }
        DataHeader header;

        leaf.flow.stamp(leaf.peer, header);
        ++leaf.sent;
        BOOST_REQUIRE(m_hub.arrival(leaf.hub, header.granted, header.seq, m_now,
                                    m_actions) == Verdict::in_order);
        execute();
        m_hub.reposted(1, m_now, m_actions);
        execute();
    }

    void answer()
    {
        for (auto &leaf : m_leaves) {
            for (; !leaf->to_hub.empty(); leaf->to_hub.pop_front()) {
                const Notice notice = leaf->to_hub.front();

                if (notice.kind == Notice::request) {
                    m_hub.request(leaf->hub, notice.value, m_now, m_actions);
                } else {
                    BOOST_REQUIRE(
                            m_hub.given_back(leaf->hub, notice.value, m_now, m_actions));
                }
                execute();
            }
        }
        m_hub.tick(m_now, m_actions);
        execute();
        BOOST_REQUIRE_EQUAL(m_hub.check(), "");
    }

    /* What the hub asks for; cells are looked at in each round. */
    void execute()
    {
        do {
            for (const Action &action : m_actions) {
                if (action.kind == Action::answer_request) {
                    m_leaves[action.peer]->from_hub.push_back(
                            {Notice::grant, m_hub.granted(action.peer)});
                    m_hub.told(action.peer);
                } else if (action.kind == Action::send_revoke) {
                    m_leaves[action.peer]->from_hub.push_back(
                            {Notice::revoke, action.value});
                } else if (action.kind == Action::write_cell) {
                    m_hub.told(action.peer);
                }
            }
            m_actions.clear();
            m_hub.drain(m_actions);
        } while (m_actions.size() != 0);
    }

    FlowConfig m_config;
    Flow m_hub;
    std::vector<std::unique_ptr<Leaf>> m_leaves;
    std::array<Action, 64> m_storage;
    Actions m_actions{m_storage};
    uint64_t m_now = 0;
};

void check_crowd(uint32_t receives, uint32_t peers)
{
    constexpr uint32_t each = 100;
    Crowd crowd(receives, peers);
    uint64_t messages = uint64_t{peers} * each;
    uint32_t rounds   = crowd.run(each, 40 * each * (1 + peers / receives));
    FlowStats stats   = crowd.stats();

    BOOST_TEST_MESSAGE(receives << " receives, " << peers << " peers: " << rounds
                                << " rounds, " << stats.requests_received << " requests, "
                                << stats.revokes << " revokes");
    BOOST_TEST(rounds != 0u);
    BOOST_TEST(crowd.fewest() == each);
    BOOST_TEST(stats.messages_received == messages);
    BOOST_TEST(stats.requests_received <= messages);
    BOOST_TEST(stats.revokes <= peers);
}

} // namespace

BOOST_AUTO_TEST_SUITE(flow_crowd)

BOOST_AUTO_TEST_CASE(all_are_served_and_little_is_said_of_it)
{
    check_crowd(16, 40);
    check_crowd(16, 12);
    check_crowd(64, 60);
    check_crowd(64, 640);
    check_crowd(1, 9);
}

/* What came for a request, and a revoke right behind it: the credit is used first, and
 * given back when it has been lying. */
BOOST_AUTO_TEST_CASE(an_answer_outlives_the_revoke_behind_it)
{
    FlowConfig config;
    Flow flow(config);
    std::array<Action, 16> storage;
    Actions actions(storage);
    uint64_t now  = 5 * config.active_ns;
    uint32_t peer = *flow.join(now);

    flow.blocked(peer, 1, now, actions);
    flow.answered(peer, 1, now, actions);
    actions.clear();
    flow.drain(actions);
    actions.clear();
    flow.revoked(peer, 0, now, actions);
    BOOST_TEST(flow.available(peer) == 1u);
    BOOST_REQUIRE_EQUAL(actions.size(), 1u);
    BOOST_TEST(storage[0].kind == Action::send_return);
    BOOST_TEST(storage[0].value == 0u);

    actions.clear();
    flow.revoked(peer, 0, now + config.active_ns, actions);
    BOOST_TEST(flow.available(peer) == 0u);
    BOOST_REQUIRE_EQUAL(actions.size(), 1u);
    BOOST_TEST(storage[0].value == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
