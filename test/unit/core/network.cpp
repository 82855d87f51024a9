// SPDX-License-Identifier: BSD-3-Clause

#include "network.hpp"

namespace be::test {

using core::Action;
using core::Actions;
using core::HeaderKind;
using core::Notice;
using core::Verdict;

Network::Network(const Schedule &schedule) :
    m_schedule(schedule),
    m_random(schedule.seed),
    m_hub(schedule.hub),
    m_sides(2 * schedule.leaves)
{
    for (uint32_t leaf = 0; leaf < schedule.leaves; ++leaf) {
        m_leaves.push_back(std::make_unique<Node>(schedule.leaf));
        m_sides[2 * leaf].node      = &m_hub;
        m_sides[2 * leaf].other     = 2 * leaf + 1;
        m_sides[2 * leaf + 1].node  = m_leaves.back().get();
        m_sides[2 * leaf + 1].other = 2 * leaf;
        connect(leaf);
    }

    for (uint32_t side = schedule.both_ways ? 0 : 1; side < m_sides.size();
         side += schedule.both_ways ? 1 : 2) {
        for (uint32_t round = 0; round < schedule.rounds; ++round) {
            add(Event::burst, side, 1 + below(schedule.burst));
        }
    }
    for (uint32_t i = 0; i < schedule.cancels; ++i) {
        add(Event::cancel, below(static_cast<uint32_t>(m_sides.size())));
    }
    for (uint32_t i = 0; i < schedule.leaves_lost; ++i) {
        add(Event::lose, below(static_cast<uint32_t>(m_sides.size())));
    }
}

void Network::run()
{
    for (;;) {
        while (!m_events.empty()) {
            std::size_t pick = m_random() % m_events.size();
            Event event      = m_events[pick];

            m_events[pick] = m_events.back();
            m_events.pop_back();
            m_now += below(100'000);
            ++m_steps;
            step(event);
        }

        /* Whatever is left must come out of the timers, or there is a deadlock. */
        for (std::size_t i = 0; i < m_sides.size(); ++i) {
            on_flow(*m_sides[i].node, [&](Actions &actions) {
                m_sides[i].node->flow.tick(m_now, actions);
            });
        }
        if (m_events.empty()) {
            break;
        }
    }
    finish();
}

void Network::finish()
{
    for (const Side &side : m_sides) {
        if (side.queued != 0) {
            throw Violation("deadlock: " + std::to_string(side.queued) +
                            " messages stay queued");
        }
        if (side.up && (m_sides[side.other].received != side.sent)) {
            throw Violation("not everything was delivered");
        }
        if (side.node->flow.tick_needed()) {
            throw Violation("credit of cancelled messages was not returned");
        }
        check(*side.node);
    }
}

template<class Call>
void Network::on_flow(Node &node, Call &&call)
{
    std::vector<Action> storage(m_schedule.actions);
    Actions actions(storage);

    call(actions);
    for (;;) {
        std::vector<Action> batch(actions.begin(), actions.end());

        for (const Action &action : batch) {
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

void Network::execute(Node &node, const Action &action)
{
    if (action.kind == Action::post_receives) {
        if (!m_schedule.refuse_growth) {
            node.posted += action.value;
            on_flow(node, [&](Actions &actions) {
                node.flow.reposted(action.value, m_now, actions);
            });
        }
        return;
    }

    if (!node.flow.member(action.peer)) {
        return;
    }

    uint32_t index = node.side_of_peer[action.peer];
    Side &side     = m_sides[index];

    switch (action.kind) {
    case Action::answer_request:
        side.notices.push_back(
                {{Notice::grant, action.value}, node.flow.granted(side.peer)});
        node.flow.told(side.peer);
        add(Event::notice, index);
        break;
    case Action::write_cell:
        if (chance(50)) {
            write_cell(index);
        } else {
            add(Event::write_cell, index);
        }
        break;
    case Action::send_request:
        side.notices.push_back({*core::decode_notice(core::encode(
                                        Notice{Notice::request, action.value})),
                                0});
        add(Event::notice, index);
        break;
    case Action::resume:
        dispatch(index);
        break;
    case Action::return_credit:
        for (uint32_t i = 0; (i < action.value) && (side.queued == 0) &&
                             node.flow.admit_message(side.peer);
             ++i) {
            post(index, HeaderKind::credit);
        }
        break;
    case Action::post_receives:
        break;
    }
}

void Network::connect(uint32_t leaf)
{
    Side *sides[2] = {&m_sides[2 * leaf], &m_sides[2 * leaf + 1]};

    for (Side *side : sides) {
        core::Flow &flow = side->node->flow;
        auto peer        = flow.join(m_now);

        if (!peer) {
            throw Violation("a peer was refused");
        }
        side->peer = *peer;
        side->up   = true;
        side->node->side_of_peer.resize(
                std::max<std::size_t>(side->node->side_of_peer.size(),
                                      side->peer + std::size_t{1}));
        side->node->side_of_peer[side->peer] = static_cast<uint32_t>(side -
                                                                     m_sides.data());
    }
    for (Side *side : sides) {
        on_flow(*side->node, [&](Actions &actions) { side->node->flow.drain(actions); });
    }
    for (Side *side : sides) {
        Side &other    = m_sides[side->other];
        uint32_t total = side->node->flow.granted(side->peer);

        side->node->flow.told(side->peer);
        on_flow(*other.node, [&](Actions &actions) {
            other.node->flow.credit_update(other.peer, total, m_now, actions);
        });
    }
}

/* The queue pairs go: what is on its way is lost, what is in hand is not. */
void Network::disconnect(uint32_t leaf)
{
    for (uint32_t index : {2 * leaf, 2 * leaf + 1}) {
        Side &side = m_sides[index];

        side.up     = false;
        side.queued = 0;
        side.sent = side.received = 0;
        side.messages.clear();
        side.notices.clear();
        ++side.life;
        on_flow(*side.node, [&](Actions &actions) {
            side.node->flow.leave(side.peer, m_now, actions);
        });
    }
}

void Network::dispatch(uint32_t index)
{
    Side &side       = m_sides[index];
    core::Flow &flow = side.node->flow;

    while ((side.queued != 0) && flow.admit_message(side.peer)) {
        if (chance(2)) {
            flow.revert_message(side.peer); /* could not be posted just now */
            continue;
        }
        --side.queued;
        post(index, HeaderKind::am);
    }
    if (side.queued != 0) {
        on_flow(*side.node, [&](Actions &actions) {
            flow.blocked(side.peer, side.queued, m_now, actions);
        });
    }
}

void Network::post(uint32_t index, HeaderKind kind)
{
    Side &side = m_sides[index];
    core::DataHeader header{.kind = kind};

    side.node->flow.stamp(side.peer, header);
    side.messages.push_back({header, (kind == HeaderKind::am) ? side.sent++ : 0});
    add(Event::message, index);
}

void Network::write_cell(uint32_t index)
{
    Side &side = m_sides[index];

    if (side.node->flow.cell_due(side.peer)) {
        add(Event::cell, index, side.node->flow.cell(side.peer).messages);
        side.node->flow.told(side.peer);
    }
}

void Network::step(Event event)
{
    Side &side  = m_sides[event.side];
    Side &other = m_sides[side.other];

    if (event.kind == Event::repost) {
        ++side.node->posted;
        on_flow(*side.node,
                [&](Actions &actions) { side.node->flow.reposted(1, m_now, actions); });
        return;
    }
    if (event.kind == Event::lose) {
        disconnect(event.side / 2);
        connect(event.side / 2);
        return;
    }
    if (event.kind == Event::burst) {
        side.queued += event.value;
        dispatch(event.side);
        return;
    }
    if (event.kind == Event::cancel) {
        side.queued -= below(side.queued + 1);
        on_flow(*side.node, [&](Actions &actions) {
            side.node->flow.cancelled(side.peer, side.queued, m_now, actions);
        });
        return;
    }

    if (event.life != side.life) {
        return; /* was on its way when the connection went */
    }

    switch (event.kind) {
    case Event::message:
        arrive(side, other, side.other);
        break;
    case Event::notice:
        notice(side, other);
        break;
    case Event::write_cell:
        write_cell(event.side);
        break;
    case Event::cell:
        if (chance(20)) {
            m_events.push_back(event); /* it comes again */
        }
        on_flow(*other.node, [&](Actions &actions) {
            other.node->flow.credit_update(other.peer, event.value, m_now, actions);
        });
        break;
    default:
        break;
    }
}

void Network::arrive(Side &from, Side &to, uint32_t to_index)
{
    Message message = from.messages.front();
    Verdict verdict = Verdict::gap;

    from.messages.pop_front();
    if (to.node->posted == 0) {
        throw Violation("receiver not ready");
    }
    --to.node->posted;
    add(Event::repost, to_index);

    on_flow(*to.node, [&](Actions &actions) {
        verdict = to.node->flow.arrival(to.peer, message.header.granted,
                                        message.header.seq, m_now, actions);
    });
    if (verdict != Verdict::in_order) {
        throw Violation("a message was not taken as in order");
    }
    if (message.header.kind == HeaderKind::am) {
        if (message.payload != to.received) {
            throw Violation("messages were swapped");
        }
        ++to.received;
        ++m_delivered;
    }
}

void Network::notice(Side &from, Side &to)
{
    NoticeInFlight in_flight = from.notices.front();

    from.notices.pop_front();
    on_flow(*to.node, [&](Actions &actions) {
        if (in_flight.notice.kind == Notice::request) {
            to.node->flow.request(to.peer, in_flight.notice.value, m_now, actions);
        } else {
            to.node->flow.answered(to.peer, in_flight.total, m_now, actions);
        }
    });
}

void Network::check(const Node &node) const
{
    /* Recomputing all totals costs as much as there are peers. */
    if ((m_schedule.leaves > 8) && (m_steps % m_schedule.leaves != 0)) {
        return;
    }

    std::string broken = node.flow.check();

    if (!broken.empty()) {
        throw Violation(broken);
    }
    if (node.flow.pool().posted() != node.posted) {
        throw Violation("the pool has lost count of the posted receives");
    }
}

bool Network::chance(uint32_t percent)
{
    return below(100) < percent;
}

uint32_t Network::below(uint32_t bound)
{
    return static_cast<uint32_t>(m_random() % bound);
}

void Network::add(Event::Kind kind, uint32_t side, uint32_t value)
{
    m_events.push_back({kind, side, m_sides[side].life, value});
}

} // namespace be::test
