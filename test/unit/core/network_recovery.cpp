// SPDX-License-Identifier: BSD-3-Clause
//
// The path between the hub and a leaf fails and is replaced: notices and cells on their way are lost, messages and
// writes are sent again. Each side hears where the other stands before that one may send again, and while other leaves
// go on.

#include <utility>

#include "network.hpp"

namespace be::test {

using core::Actions;
using core::HeaderKind;
using core::Notice;

void Network::replace(uint32_t leaf)
{
    if (m_sides[2 * leaf].broken || m_sides[2 * leaf + 1].broken) {
        return;
    }
    std::erase_if(m_events, [&](const Event &event) {
        return (event.side / 2 == leaf) &&
               ((event.kind == Event::notice) || (event.kind == Event::cell));
    });
    for (uint32_t index : {2 * leaf, 2 * leaf + 1}) {
        Side &side = m_sides[index];

        side.notices.clear();
        side.broken  = true;
        side.rewired = false;
        add(Event::rewire, index);
    }
    for (uint32_t index : {2 * leaf, 2 * leaf + 1}) {
        m_sides[index].position = m_sides[index].node->flow.position(m_sides[index].peer);
    }
}

void Network::rewire(uint32_t index)
{
    Side &side = m_sides[index];
    bool sane  = false;

    std::erase_if(side.unsent, [](const auto &notice) {
        return (notice.first != Notice::give_back) &&
               (notice.first != Notice::byte_return);
    });
    side.returns = 0;
    side.rewired = true;
    on_flow(*side.node, [&](Actions &actions) {
        sane = side.node->flow.reposition(side.peer, m_sides[side.other].position, m_now,
                                          actions);
    });
    if (!sane) {
        throw Violation("a position was taken for nonsense");
    }
    if (m_sides[side.other].rewired) {
        add(Event::resume, index);
        add(Event::resume, side.other);
    }
}

void Network::resume(uint32_t index)
{
    Side &side = m_sides[index];

    side.broken = false;
    for (Write &write : side.writes) {
        write.notice = side.node->flow.stamp_bulk(side.peer);
    }
    for (const auto &[kind, value] : std::exchange(side.unsent, {})) {
        notify(index, kind, value);
    }
    write_cell(index);
    return_credit(index, std::exchange(side.returns, 0));
    dispatch(index);
}

/* It cannot happen before the path is there again. */
bool Network::waits(const Event &event) const
{
    switch (event.kind) {
    case Event::message:
    case Event::notice:
    case Event::cell:
    case Event::write_cell:
    case Event::write:
        return m_sides[event.side].broken;
    default:
        return false;
    }
}

void Network::return_credit(uint32_t index, uint32_t count)
{
    Side &side = m_sides[index];

    if (side.broken) {
        side.returns = count;
        return;
    }
    for (; (count != 0) && (side.queued == 0) && side.node->flow.admit_message(side.peer);
         --count) {
        post(index, HeaderKind::credit, 0);
    }
}

} // namespace be::test
