// SPDX-License-Identifier: BSD-3-Clause
//
// What fabrics tell each other of their interfaces: hold (its messages pile up), resume, gone. Each is a message of
// kind credit with a flag; it takes a credit and its place in the order like any other.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace be::engine {
namespace {

// Answers to messages for interfaces that do not exist which may wait for one peer; a sender that is not answered
// asks again by sending.
constexpr std::size_t max_notes = 1024;

} // namespace

void Fabric::announce(Peer &peer, Note::What what, std::uint16_t iface)
{
    if (!peer.usable() || peer.notes.size() >= max_notes) {
        return;
    }
    // The latest word counts.
    const auto same = std::find_if(peer.notes.begin(), peer.notes.end(),
                                   [&](const Note &note) { return note.iface == iface; });
    if (same != peer.notes.end()) {
        same->what = what;
        return;
    }
    peer.notes.push_back({what, iface});
    send_notes(peer);
}

void Fabric::send_notes(Peer &peer)
{
    std::size_t sent = 0;
    for (; sent < peer.notes.size() && peer.state == Peer::State::ready; ++sent) {
        if (peer.messages.room() == 0 || !m_sends.room_for_protocol()) {
            break;
        }
        if (!m_flow.admit_message(peer.index)) {
            read_cell(peer);
            if (!m_flow.admit_message(peer.index)) {
                const auto wanted = static_cast<unsigned>(peer.notes.size() - sent);
                flow_event([&](core::Actions &actions) {
                    m_flow.blocked(peer.index, peer.queued + wanted, now(), actions);
                });
                break;
            }
        }
        const memory::Buffer staging = m_staging.get();
        if (!staging) {
            m_flow.revert_message(peer.index);
            break;
        }
        const Note note = peer.notes[sent];
        ibv_sge sge{reinterpret_cast<std::uint64_t>(staging.address),
                    core::data_header_size, staging.lkey};
        (void)post_message(peer,
                           {.kind   = core::HeaderKind::credit,
                            .flags  = note.what,
                            .iface  = note.iface,
                            .header = staging.address},
                           {.buffer = staging.address}, &sge, 1, 0, true);
    }
    peer.notes.erase(peer.notes.begin(),
                     peer.notes.begin() + static_cast<std::ptrdiff_t>(sent));
    if (!peer.notes.empty() && peer.usable()) {
        defer(peer);
    }
}

void Fabric::on_note(Peer &peer, std::uint8_t what, std::uint16_t iface)
{
    switch (what) {
    case Note::hold:
        peer.held.insert(iface);
        break;
    case Note::resume:
        peer.held.erase(iface);
        break;
    case Note::gone:
        peer.held.erase(iface);
        peer.gone.insert(iface);
        break;
    default:
        fail(peer, BE_ERR_PEER_FAILED,
             fmt::format("it said {:#x} of an interface, which means nothing", what));
        return;
    }
    for (const auto &[key, link] : peer.links) {
        if (link->iface == iface) {
            bar(*link);
        }
    }
}

void Fabric::bar(Link &link)
{
    link.gone   = link.peer.gone.contains(link.iface);
    link.barred = link.gone || link.peer.held.contains(link.iface);
    if (link.gone && link.references != 0 && (link.queued != 0 || link.missed)) {
        report(link);
    }
}

// A message for `member`, which does not fetch its own.
void Fabric::check_backlog(Member &member, Peer &peer)
{
    const std::uint64_t backlog = member.backlog();
    if (backlog < m_hold_at) [[likely]] {
        return;
    }
    if (std::find(peer.holding.begin(), peer.holding.end(), member.id()) ==
        peer.holding.end()) {
        peer.holding.push_back(member.id());
        member.hold(peer);
        ++m_counters.holds;
        announce(peer, Note::hold, member.id());
    } else if (backlog >= m_backlog_limit) {
        fail(peer, BE_ERR_PEER_FAILED,
             fmt::format(
                     "it went on sending to an interface that was on hold; {} messages "
                     "wait there",
                     backlog));
    }
}

void Fabric::resume(Member &member, const std::vector<Peer *> &peers)
{
    for (Peer *peer : peers) {
        std::erase(peer->holding, member.id());
        announce(*peer, Note::resume, member.id());
    }
}

} // namespace be::engine
