// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that wait for byte credit, see parked.hpp.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

namespace be::engine {

namespace {

// Fences and flushes that had to wait until it had its place know what that is.
void unparked(Link &link)
{
    --link.parked;
    const std::uint64_t posted = link.peer.messages.posted();
    if (link.fence_parked != 0 && --link.fence_parked == 0) {
        link.fence_messages = posted;
    }
    link.waiters.for_each([&](FlushWaiter &waiter) {
        if (waiter.parked != 0 && --waiter.parked == 0) {
            waiter.messages = posted;
        }
    });
}

} // namespace

// The message has its message credit. True: it has to wait, and has given that back; without memory for it, it is
// as if a credit had been lacking from the start, which nobody can tell the caller any more, so the peer is lost.
bool Fabric::park_unless_covered(Link &link, const Parked &message)
{
    Peer &peer = link.peer;
    if (link.parked == 0 && m_flow.admit_bytes(peer.index, message.length)) [[likely]] {
        return false;
    }
    m_flow.revert_message(peer.index);
    Parked *parked = m_parked.get();
    if (parked == nullptr) {
        (void)m_staging.put(message.slot.buffer);
        fail(peer, BE_ERR_NO_MEMORY, "there is no memory to put off a message");
        return true;
    }
    *parked      = message;
    parked->link = &link;
    ++link.parked;
    peer.parked.push(parked);
    ++m_counters.messages_parked;
    ask_for_bytes(peer);
    return true;
}

// The credit that comes is the first one's: small messages of other links ask for theirs by themselves, and so do
// small ones here when it is their turn.
void Fabric::ask_for_bytes(Peer &peer)
{
    core::Waiting waiting{.large = peer.parked.large(), .all = peer.parked.bytes()};
    const Parked *message = peer.parked.front();
    for (; message != nullptr && message->slot.bytes == 0; message = message->next) {
        ++waiting.small;
    }
    waiting.first = message != nullptr ? message->slot.bytes : 0;
    flow_event([&](core::Actions &actions) {
        m_flow.blocked(peer.index, waiting, now(), actions);
    });
}

void Fabric::unpark(Peer &peer)
{
    bool sent = false;
    while (!peer.parked.empty() && peer.state == Peer::State::ready) {
        Parked &message = *peer.parked.front();
        if (peer.messages.room() == 0 || !m_sends.room()) {
            reclaim_sends();
            defer(peer);
            break;
        }
        if (!m_flow.admit_message(peer.index, message.length)) {
            ask_for_bytes(peer);
            break;
        }
        peer.parked.pop();
        Link &link = *message.link;
        (void)post_message(peer, message_to(link, message.am_id, message.slot.buffer),
                           message.slot, message.sges.data(), message.sge_count, 0, true);
        unparked(link);
        m_parked.put(&message);
        sent = true;
    }
    if (sent) {
        freed(peer);
    }
}

// The peer is lost.
void Fabric::drop_parked(Peer &peer)
{
    while (!peer.parked.empty()) {
        Parked &message = *peer.parked.pop();
        unparked(*message.link);
        (void)m_staging.put(message.slot.buffer);
        if (message.slot.kind == Slot::Kind::notify) {
            Member &owner = message.link->member;
            --owner.zero_copies;
            owner.complete(message.slot.object, BE_ERR_PEER_FAILED);
        }
        m_parked.put(&message);
        peer.lost = true;
    }
}

} // namespace be::engine
