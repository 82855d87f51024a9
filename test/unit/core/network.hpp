// SPDX-License-Identifier: BSD-3-Clause
//
// A network of flows for property tests: one hub and its leaves, all joined by queues
// whose order of delivery a seeded generator chooses.
//
// What it promises is what reliable queue pairs promise, and no more: messages of one
// direction arrive in order, notices arrive in order and once, cells arrive in any order
// and any number of times; nothing is ordered between these. Receives are posted again
// some time after their arrival. An arrival without a posted receive is a failure of the
// protocol: the network counts posted receives by itself. So is an arrival of bytes that
// were not granted, more of them under way to a node than its budget, and credit that is
// neither held by a sender nor known to a receiver when all is quiet.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/flow.hpp"

namespace be::test {

/* The protocol did what it must never do. */
class Violation : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Schedule {
    uint64_t seed        = 0;
    uint32_t leaves      = 1;
    uint32_t rounds      = 4; /* bursts given to each direction of each leaf */
    uint32_t burst       = 8; /* most messages of one */
    uint32_t cancels     = 0; /* how often queued messages are cancelled */
    uint32_t leaves_lost = 0; /* how often a leaf goes and comes back */
    uint32_t replaced    = 0; /* how often the path to a leaf is */
    uint32_t bulk        = 0; /* how often each direction of each leaf writes and reads */
    uint32_t large       = 0; /* how often it sends a large message; bytes, at most: */
    uint32_t largest     = 0;
    bool refuse_growth   = false;
    bool both_ways       = true; /* the hub sends too */
    std::size_t actions  = 4; /* size of the drivers' arrays */
    core::FlowConfig hub;
    core::FlowConfig leaf;
};

class Network {
public:
    explicit Network(const Schedule &schedule);

    /* Runs to the end; throws Violation. */
    void run();

    uint64_t delivered() const
    {
        return m_delivered;
    }

    uint64_t steps() const
    {
        return m_steps;
    }

    const core::Flow &hub() const
    {
        return m_hub.flow;
    }

private:
    struct Node {
        explicit Node(const core::FlowConfig &settings) :
            config(settings), flow(settings), posted(settings.pool.capacity)
        {
        }

        core::FlowConfig config;
        core::Flow flow;
        uint32_t posted; /* receives, as the hardware would count them */
        uint64_t under_way = 0; /* bytes toward it, as charged */
        std::vector<uint32_t> side_of_peer;
    };

    struct Message {
        core::DataHeader header;
        uint64_t payload;
        uint32_t bytes;
    };

    struct Write {
        core::Notice notice;
        uint32_t bytes;
    };

    struct NoticeInFlight {
        core::Notice notice;
        uint32_t total; /* what a grant wrote into the cell */
    };

    /* One end of a connection. Sides 2n and 2n + 1 belong together. */
    struct Side {
        Node *node        = nullptr;
        uint32_t peer     = 0; /* index in the node's flow */
        uint32_t other    = 0;
        uint32_t life     = 0; /* connections that were here before */
        bool up           = false;
        uint32_t queued   = 0;
        uint64_t sent     = 0; /* payloads toward the other side */
        uint64_t received = 0;
        std::deque<Message> messages; /* on their way from here */
        std::deque<NoticeInFlight> notices;
        std::deque<uint32_t> large; /* sizes of messages that wait */
        std::deque<Write> writes; /* on their way from here */
        uint64_t bulk[2] = {}; /* by core::BulkKind: bytes that wait or are under way */
        uint64_t bulk_unposted[2] = {};

        /* While its path is replaced */
        bool broken  = false;
        bool rewired = false;
        core::Position position; /* of this side */
        std::map<core::Notice::Kind, uint32_t> unsent;
        uint32_t returns = 0; /* credit to give back */
    };

    struct Event {
        enum Kind {
            message,
            notice,
            cell,
            write_cell,
            repost,
            burst,
            large, /* value: bytes */
            bulk_write, /* is queued; value: bytes */
            bulk_read,
            write, /* arrives */
            read, /* value: bytes; the data arrives */
            done, /* value: bytes; what was written or sent is complete */
            cancel,
            lose,
            replace, /* the path */
            rewire,
            resume
        };

        Kind kind;
        uint32_t side; /* it comes from; `repost`: that has the receive */
        uint32_t life;
        uint32_t value;
    };

    /* The arrays of actions are tiny on purpose: take what is there until all is out. */
    template<class Call>
    void on_flow(Node &node, Call &&call);
    void execute(Node &node, const core::Action &action);

    void connect(uint32_t leaf);
    void disconnect(uint32_t leaf);
    void dispatch(uint32_t side);
    void post(uint32_t side, core::HeaderKind kind, uint32_t bytes);
    void step(Event event);
    void arrive(Side &from, Side &to, uint32_t to_index);
    void notice(Side &from, Side &to);
    void add_bytes();
    void step_bytes(const Event &event, Side &side, Side &other);
    void execute_bytes(uint32_t side, const core::Action &action);
    void queue_bulk(uint32_t side, core::BulkKind kind, uint32_t bytes);
    void pump(Node &node);
    void dispatch_large(uint32_t side);
    void take_off(Node &node, uint64_t bytes);
    void put_on(Node &node, uint64_t bytes);
    void replace(uint32_t leaf);
    void rewire(uint32_t side);
    void resume(uint32_t side);
    bool waits(const Event &event) const;
    void return_credit(uint32_t side, uint32_t count);
    void check_quiet(const Side &side) const;
    void notify(uint32_t side, core::Notice::Kind kind, uint32_t value);
    void write_cell(uint32_t side);
    void check(const Node &node) const;
    void finish();
    bool chance(uint32_t percent);
    uint32_t below(uint32_t bound);
    void add(Event::Kind kind, uint32_t side, uint32_t value = 0);

    Schedule m_schedule;
    std::mt19937_64 m_random;
    Node m_hub;
    std::vector<std::unique_ptr<Node>> m_leaves;
    std::vector<Side> m_sides;
    std::vector<Event> m_events;
    std::vector<uint64_t> m_cells; /* all that were ever written */
    uint64_t m_now       = 0;
    uint64_t m_steps     = 0;
    uint64_t m_delivered = 0;
};

template<class Call>
void Network::on_flow(Node &node, Call &&call)
{
    std::vector<core::Action> storage(m_schedule.actions);
    core::Actions actions(storage);

    call(actions);
    for (;;) {
        std::vector<core::Action> batch(actions.begin(), actions.end());

        for (const core::Action &action : batch) {
            execute(node, action);
        }
        actions.clear();
        node.flow.drain(actions);
        if (actions.size() == 0) {
            break;
        }
    }
    check(node);
}

} // namespace be::test
