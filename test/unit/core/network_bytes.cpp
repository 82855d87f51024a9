// SPDX-License-Identifier: BSD-3-Clause
//
// The bytes of the network: large messages, writes and reads.

#include "network.hpp"

namespace be::test {

using core::Action;
using core::Actions;
using core::BulkGrant;
using core::BulkKind;
using core::HeaderKind;
using core::Notice;

void Network::add_bytes()
{
    for (uint32_t side = 0; side < m_sides.size(); ++side) {
        uint32_t most = 4 * m_schedule.hub.window.quantum;

        for (uint32_t i = 0; i < m_schedule.bulk; ++i) {
            add(chance(50) ? Event::bulk_write : Event::bulk_read, side, 1 + below(most));
        }
        for (uint32_t i = 0; i < m_schedule.large; ++i) {
            uint32_t small = m_schedule.hub.small_message;

            add(Event::large, side, small + 1 + below(m_schedule.largest - small));
        }
    }
}

void Network::put_on(Node &node, uint64_t bytes)
{
    node.under_way += bytes;
    if (node.flow.bytes().enabled() &&
        (node.under_way >
         uint64_t{node.flow.bytes().budget()} * node.config.bytes.unit)) {
        throw Violation("more bytes are under way than the budget");
    }
}

void Network::take_off(Node &node, uint64_t bytes)
{
    node.under_way -= bytes;
}

void Network::notify(uint32_t index, Notice::Kind kind, uint32_t value)
{
    Side &side     = m_sides[index];
    uint32_t total = 0;

    if (side.broken) {
        side.unsent[kind] = value;
        return;
    }
    if (kind == Notice::grant) {
        value = total = side.node->flow.granted(side.peer);
        side.node->flow.told(side.peer);
    }
    side.notices.push_back(
            {*core::decode_notice(core::encode(Notice{kind, value})), total});
    add(Event::notice, index);
}

void Network::execute_bytes(uint32_t index, const Action &action)
{
    switch (action.kind) {
    case Action::send_byte_request:
        notify(index, Notice::byte_request, action.value);
        break;
    case Action::send_revoke:
        notify(index, Notice::revoke, action.value);
        break;
    case Action::send_byte_revoke:
        notify(index, Notice::byte_revoke, action.value);
        break;
    case Action::send_return:
        notify(index, Notice::give_back, action.value);
        break;
    case Action::send_byte_return:
        notify(index, Notice::byte_return, action.value);
        break;
    case Action::send_wake:
        notify(index, Notice::wake, action.value);
        break;
    case Action::send_woken:
        notify(index, Notice::woken, action.value);
        break;
    case Action::suspect:
        add(Event::lose, index);
        break;
    default:
        break;
    }
}

void Network::queue_bulk(uint32_t index, BulkKind kind, uint32_t bytes)
{
    Side &side      = m_sides[index];
    uint64_t charge = side.node->flow.charge(bytes);

    side.bulk[static_cast<unsigned>(kind)] += charge;
    side.bulk_unposted[static_cast<unsigned>(kind)] += charge;
    on_flow(*side.node, [&](Actions &actions) {
        side.node->flow.bulk_queued(side.peer, charge, kind, m_now, actions);
    });
    pump(*side.node);
}

void Network::pump(Node &node)
{
    while (BulkGrant grant = node.flow.next_bulk(m_now)) {
        uint32_t index = node.side_of_peer[grant.peer];
        Side &side     = m_sides[index];

        if (grant.bytes > side.bulk_unposted[static_cast<unsigned>(grant.kind)]) {
            throw Violation("more bulk was admitted than is queued");
        }
        side.bulk_unposted[static_cast<unsigned>(grant.kind)] -= grant.bytes;
        if (grant.kind == BulkKind::write) {
            side.writes.push_back({node.flow.stamp_bulk(grant.peer), grant.bytes});
            put_on(*m_sides[side.other].node, grant.bytes);
            add(Event::write, index);
        } else {
            put_on(node, grant.bytes);
            add(Event::read, index, grant.bytes);
        }
    }
    on_flow(node, [&](Actions &actions) { node.flow.drain(actions); });
}

void Network::dispatch_large(uint32_t index)
{
    Side &side       = m_sides[index];
    core::Flow &flow = side.node->flow;
    if (side.broken) {
        return;
    }

    core::Waiting waiting{.small = side.queued, .large = 0, .first = 0, .all = 0};

    while (!side.large.empty() && flow.admit_message(side.peer, side.large.front())) {
        uint32_t bytes = side.large.front();

        side.large.pop_front();
        put_on(*m_sides[side.other].node, flow.charge(bytes));
        post(index, HeaderKind::am, bytes);
    }
    for (uint32_t bytes : side.large) {
        waiting.first = (waiting.first == 0) ? bytes : waiting.first;
        waiting.all += flow.charge(bytes);
        ++waiting.large;
    }
    if (waiting.small + waiting.large != 0) {
        on_flow(*side.node, [&](Actions &actions) {
            flow.blocked(side.peer, waiting, m_now, actions);
        });
    }
    pump(*side.node);
}

void Network::step_bytes(const Event &event, Side &side, Side &other)
{
    core::Flow &flow = side.node->flow;

    switch (event.kind) {
    case Event::large:
        side.large.push_back(event.value);
        dispatch(event.side);
        break;
    case Event::bulk_write:
        queue_bulk(event.side, BulkKind::write, event.value);
        break;
    case Event::bulk_read:
        queue_bulk(event.side, BulkKind::read, event.value);
        break;
    case Event::write: {
        Write write  = side.writes.front();
        bool covered = false;

        side.writes.pop_front();
        take_off(*other.node, write.bytes);
        on_flow(*other.node, [&](Actions &actions) {
            other.node->flow.byte_request(other.peer, write.notice.value, m_now, actions);
            covered = other.node->flow.bytes_arrived(other.peer, write.bytes, m_now,
                                                     actions);
        });
        if (!covered) {
            throw Violation("a write had no byte credit");
        }
        side.bulk[0] -= write.bytes;
        add(Event::done, event.side, write.bytes);
        break;
    }
    case Event::read:
        take_off(*side.node, event.value);
        side.bulk[1] -= event.value;
        on_flow(*side.node, [&](Actions &actions) {
            flow.read_done(side.peer, event.value, m_now, actions);
        });
        pump(*side.node);
        break;
    case Event::done:
        on_flow(*side.node, [&](Actions &actions) {
            flow.bulk_done(side.peer, event.value);
            flow.drain(actions);
        });
        pump(*side.node);
        break;
    default:
        break;
    }
}

/* Nothing is under way: what a receiver has granted is what the sender holds. */
void Network::check_quiet(const Side &side) const
{
    const Side &other = m_sides[side.other];

    if (side.bulk[0] + side.bulk[1] != 0) {
        throw Violation("deadlock: " + std::to_string(side.bulk[0]) +
                        " bytes to write, " + std::to_string(side.bulk[1]) +
                        " to read stay queued");
    }
    if (side.node->under_way != 0) {
        throw Violation("bytes are under way that nobody sent");
    }
    if (side.up && (side.node->flow.stats(side.peer).bytes_granted !=
                    other.node->flow.stats(other.peer).bytes_outstanding)) {
        throw Violation(
                "byte credit is lost: " +
                std::to_string(side.node->flow.stats(side.peer).bytes_granted) +
                " held, " +
                std::to_string(other.node->flow.stats(other.peer).bytes_outstanding) +
                " outstanding");
    }
}

} // namespace be::test
