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
    add_bytes();
    for (uint32_t i = 0; i < schedule.cancels; ++i) {
        add(Event::cancel, below(static_cast<uint32_t>(m_sides.size())));
    }
    for (uint32_t i = 0; i < schedule.replaced; ++i) {
        add(Event::replace, below(static_cast<uint32_t>(m_sides.size())));
    }
    for (uint32_t i = 0; i < schedule.leaves_lost; ++i) {
        add(Event::lose, below(static_cast<uint32_t>(m_sides.size())));
    }
}

void Network::run()
{
    constexpr unsigned most_waits = 1000; /* for a timer that brings nothing */
    unsigned waits                = 0;

    for (;;) {
        while (!m_events.empty()) {
            std::size_t pick = m_random() % m_events.size();
            Event event      = m_events[pick];

            m_events[pick] = m_events.back();
            m_events.pop_back();
            m_now += below(100'000);
            ++m_steps;
            step(event);
            if (m_schedule.bulk + m_schedule.large != 0 && chance(5)) {
                Node &node = *m_sides[below(static_cast<uint32_t>(m_sides.size()))].node;

                on_flow(node, [&](Actions &actions) {
                    chance(50) ? node.flow.tick(m_now, actions) :
                                 node.flow.sleep(m_now, actions);
                });
            }
        }

        /* Whatever is left must come out of the timers, or there is a deadlock. */
        uint64_t due = ~uint64_t{0};

        for (const Side &side : m_sides) {
            due = std::min(due, side.node->flow.tick_due_ns());
        }
        m_now = std::max(m_now + 2'000'000, (due == ~uint64_t{0}) ? 0 : due + 1);
        for (std::size_t i = 0; i < m_sides.size(); ++i) {
            on_flow(*m_sides[i].node, [&](Actions &actions) {
                m_sides[i].node->flow.tick(m_now, actions);
            });
        }
        if (m_events.empty() && ((due == ~uint64_t{0}) || (++waits > most_waits))) {
            break;
        }
    }
    finish();
}

void Network::finish()
{
    for (const Side &side : m_sides) {
        if ((side.queued != 0) || !side.large.empty()) {
            throw Violation("deadlock: " + std::to_string(side.queued) +
                            " messages and " + std::to_string(side.large.size()) +
                            " large ones stay queued");
        }
        if (side.up && (m_sides[side.other].received != side.sent)) {
            throw Violation("not everything was delivered");
        }
        if (side.node->flow.tick_needed()) {
            throw Violation((side.node->flow.tick_due_ns() == ~uint64_t{0}) ?
                                    "credit of cancelled messages was not returned" :
                                    "byte credit that was asked for is not used");
        }
        check(*side.node);
        check_quiet(side);
    }
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

    if (action.kind == Action::pump_bulk) {
        pump(node);
        return;
    }
    if (!node.flow.member(action.peer)) {
        return;
    }

    uint32_t index = node.side_of_peer[action.peer];

    switch (action.kind) {
    case Action::answer_request:
        notify(index, Notice::grant, action.value);
        break;
    case Action::write_cell:
        if (chance(50)) {
            write_cell(index);
        } else {
            add(Event::write_cell, index);
        }
        break;
    case Action::send_request:
        notify(index, Notice::request, action.value);
        break;
    case Action::resume:
        dispatch(index);
        break;
    case Action::return_credit:
        return_credit(index, action.value);
        break;
    default:
        execute_bytes(index, action);
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
        for (const Message &message : side.messages) {
            if (message.bytes > side.node->config.small_message) {
                take_off(*m_sides[side.other].node,
                         side.node->flow.charge(message.bytes));
            }
        }
        for (const Write &write : side.writes) {
            take_off(*m_sides[side.other].node, side.node->flow.charge(write.bytes));
        }
        take_off(*side.node, side.bulk[1] - side.bulk_unposted[1]);
        side.large.clear();
        side.writes.clear();
        side.bulk[0] = side.bulk[1] = side.bulk_unposted[0] = side.bulk_unposted[1] = 0;
        side.sent = side.received = 0;
        side.messages.clear();
        side.notices.clear();
        side.broken = side.rewired = false;
        side.unsent.clear();
        side.returns = 0;
        ++side.life;
    }
    for (uint32_t index : {2 * leaf, 2 * leaf + 1}) {
        Side &side = m_sides[index];

        on_flow(*side.node, [&](Actions &actions) {
            side.node->flow.leave(side.peer, m_now, actions);
        });
    }
}

void Network::dispatch(uint32_t index)
{
    Side &side       = m_sides[index];
    core::Flow &flow = side.node->flow;

    if (side.broken) {
        return;
    }
    while ((side.queued != 0) && flow.admit_message(side.peer)) {
        if (chance(2)) {
            flow.revert_message(side.peer); /* could not be posted just now */
            continue;
        }
        --side.queued;
        post(index, HeaderKind::am, 0);
    }
    dispatch_large(index);
}

void Network::post(uint32_t index, HeaderKind kind, uint32_t bytes)
{
    Side &side = m_sides[index];
    core::DataHeader header{.kind = kind};

    side.node->flow.stamp(side.peer, header);
    side.messages.push_back({header, (kind == HeaderKind::am) ? side.sent++ : 0, bytes});
    add(Event::message, index);
}

void Network::write_cell(uint32_t index)
{
    Side &side = m_sides[index];

    if (side.broken) {
        add(Event::write_cell, index);
    } else if (side.node->flow.cell_due(side.peer)) {
        uint64_t word = 0;

        core::store_cell(&word, side.node->flow.take_cell(side.peer));
        add(Event::cell, index, static_cast<uint32_t>(m_cells.size()));
        m_cells.push_back(word);
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
    if ((event.kind == Event::large) || (event.kind == Event::bulk_write) ||
        (event.kind == Event::bulk_read)) {
        step_bytes(event, side, other);
        return;
    }
    if (event.kind == Event::burst) {
        side.queued += event.value;
        dispatch(event.side);
        return;
    }
    if (event.kind == Event::cancel) {
        side.queued -= below(side.queued + 1);
        if (!side.large.empty()) {
            side.queued = 0; /* all of them go */
            side.large.clear();
        }
        on_flow(*side.node, [&](Actions &actions) {
            side.node->flow.cancelled(side.peer, side.queued, m_now, actions);
        });
        return;
    }

    if (event.kind == Event::replace) {
        replace(event.side / 2);
        return;
    }

    if (event.life != side.life) {
        return; /* was on its way when the connection went */
    }
    if (waits(event)) {
        m_events.push_back(event);
        return;
    }

    switch (event.kind) {
    case Event::rewire:
        rewire(event.side);
        break;
    case Event::resume:
        resume(event.side);
        break;
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
            other.node->flow.credit_update(other.peer,
                                           core::load_cell(&m_cells[event.value]), m_now,
                                           actions);
        });
        break;
    default:
        step_bytes(event, side, other);
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
    if (message.bytes > to.node->config.small_message) {
        bool covered = false;

        take_off(*to.node, to.node->flow.charge(message.bytes));
        on_flow(*to.node, [&](Actions &actions) {
            covered = to.node->flow.bytes_arrived(to.peer, message.bytes, m_now, actions);
        });
        if (!covered) {
            throw Violation("a large message had no byte credit");
        }
        add(Event::done, to.other,
            static_cast<uint32_t>(from.node->flow.charge(message.bytes)));
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
    bool good = true;

    on_flow(*to.node, [&](Actions &actions) {
        core::Flow &flow     = to.node->flow;
        const uint32_t value = in_flight.notice.value;

        switch (in_flight.notice.kind) {
        case Notice::request:
            flow.request(to.peer, value, m_now, actions);
            break;
        case Notice::grant:
            flow.answered(to.peer, in_flight.total, m_now, actions);
            break;
        case Notice::byte_request:
            flow.byte_request(to.peer, value, m_now, actions);
            break;
        case Notice::revoke:
            flow.revoked(to.peer, value, m_now, actions);
            break;
        case Notice::byte_revoke:
            flow.bytes_revoked(to.peer, value, m_now, actions);
            break;
        case Notice::give_back:
            good = flow.given_back(to.peer, value, m_now, actions);
            break;
        case Notice::byte_return:
            good = flow.bytes_given_back(to.peer, value, m_now, actions);
            break;
        case Notice::wake:
            flow.wake(to.peer, value, m_now, actions);
            break;
        case Notice::woken:
            flow.woken(to.peer, value, m_now, actions);
            break;
        case Notice::bulk:
            break;
        }
    });
    if (!good) {
        throw Violation("a peer gave back what it did not hold");
    }
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
