// SPDX-License-Identifier: BSD-3-Clause
//
// Flush and fence, and the marker that makes both possible on a queue whose newest work asked for no completion:
// a write of no bytes, signalled.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

namespace be::engine {

namespace {

ibv_send_wr marker(const Peer &peer) noexcept
{
    ibv_send_wr wr{};
    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = peer.remote_cell;
    wr.wr.rdma.rkey        = peer.remote_cell_rkey;
    return wr;
}

} // namespace

// Later, if the completion queue has no room.
void Fabric::post_marker(Peer &peer, SendQueue &queue)
{
    if (!m_sends.room_for_marker()) {
        peer.marker_deferred = true;
        defer(peer);
        return;
    }
    ibv_send_wr wr = marker(peer);
    if (const int error = post(peer, queue, wr, {.kind = Slot::Kind::marker}, true);
        error != 0 && peer.usable()) {
        io_failure(peer, "a marker", error);
    }
}

void Fabric::mark_tails(Peer &peer)
{
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        if (queue->exists() && !queue->idle() && !queue->tail_signalled()) {
            post_marker(peer, *queue);
        }
    }
}

// On queue pairs that are in error. What finds no room is tried again as long as the drain lasts.
void Fabric::mark_drains(Peer &peer)
{
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        if (!queue->exists() || queue->drained() || queue->tail_signalled() ||
            !m_sends.room_for_marker()) {
            continue;
        }
        ibv_send_wr wr = marker(peer);
        if (queue->post(wr, {.kind = Slot::Kind::marker}, true) == 0) {
            m_sends.posted(true);
        }
    }
}

// True when something is outstanding, whose completion is then on its way. Messages of others to the same peer
// are waited for too: they take no longer.
bool Fabric::outstanding(Link &link)
{
    Peer &peer       = link.peer;
    const bool bulk  = link.bulk_outstanding();
    const bool ready = peer.state == Peer::State::ready;
    if (!bulk && peer.messages.idle() && link.parked == 0) {
        return false;
    }
    if (ready && !peer.messages.idle() && !peer.messages.tail_signalled()) {
        post_marker(peer, peer.messages);
    }
    if (ready && bulk && !peer.bulk.idle() && !peer.bulk.tail_signalled()) {
        post_marker(peer, peer.bulk);
    }
    return true;
}

be_status_t Fabric::flush(Link &link, void *completion)
{
    const Peer &peer = link.peer;
    if (peer.state == Peer::State::dead || !outstanding(link)) {
        return peer.usable() || peer.departed ? BE_OK : peer.status;
    }
    if (completion == nullptr) {
        (void)refuse(link);
        return BE_INPROGRESS;
    }
    Flush *flush = new_flush(link.member, completion);
    if (flush != nullptr) {
        add_waiter(link, flush);
    }
    return started(flush);
}

be_status_t Fabric::flush_all(Member &member, void *completion)
{
    Flush *flush = completion != nullptr ? new_flush(member, completion) : nullptr;
    bool busy    = false;
    visit_links(member, [&](Link &link) {
        if (link.peer.state == Peer::State::dead || !outstanding(link)) {
            return;
        }
        busy = true;
        if (flush != nullptr) {
            add_waiter(link, flush);
        } else {
            (void)refuse(link);
        }
    });
    if (!busy) {
        if (flush != nullptr) {
            m_flushes.put(flush);
        }
        return BE_OK;
    }
    return completion != nullptr ? started(flush) : BE_INPROGRESS;
}

Flush *Fabric::new_flush(Member &member, void *completion)
{
    Flush *flush = m_flushes.get();
    if (flush != nullptr) {
        flush->member     = &member;
        flush->completion = completion;
    }
    return flush;
}

// Memory may have been short: for the flush, or for those that it waits for.
be_status_t Fabric::started(Flush *flush)
{
    if (flush != nullptr && flush->links_left != 0) {
        return BE_INPROGRESS;
    }
    if (flush != nullptr) {
        m_flushes.put(flush);
    }
    return BE_ERR_NO_MEMORY;
}

void Fabric::add_waiter(Link &link, Flush *flush)
{
    FlushWaiter *waiter = m_waiters.get();
    if (waiter == nullptr) {
        return;
    }
    waiter->parked   = link.parked;
    waiter->messages = link.parked != 0 ? ~std::uint64_t{0} : // see parked.cpp
                                          link.peer.messages.posted();
    waiter->bulk     = {link.bulk[0].issued, link.bulk[1].issued};
    waiter->flush    = flush;
    ++flush->links_left;
    link.waiters.push(waiter);
    if (!link.flushing) {
        link.flushing = true;
        link.peer.flushing.push_back(&link);
    }
}

void Fabric::check_waiters(Peer &peer)
{
    for (std::size_t i = 0; i < peer.flushing.size();) {
        Link &link = *peer.flushing[i];
        while (!link.waiters.empty() &&
               peer.messages.retired() >= link.waiters.front()->messages &&
               link.bulk[0].done >= link.waiters.front()->bulk[0] &&
               link.bulk[1].done >= link.waiters.front()->bulk[1]) {
            take_waiter(link, peer.lost ? BE_ERR_PEER_FAILED : BE_OK);
        }
        if (!link.waiters.empty()) {
            ++i;
            continue;
        }
        link.flushing    = false;
        peer.flushing[i] = peer.flushing.back();
        peer.flushing.pop_back();
    }
}

// The first who waits on this link need not any longer.
void Fabric::take_waiter(Link &link, be_status_t status)
{
    FlushWaiter *waiter = link.waiters.pop();
    Flush *flush        = waiter->flush;
    m_waiters.put(waiter);
    if (status != BE_OK) {
        flush->status = status;
    }
    if (--flush->links_left == 0) {
        const Flush done = *flush;
        m_flushes.put(flush);
        done.member->complete(done.completion, done.status);
    }
}

void Fabric::fence(Link &link)
{
    if (link.peer.usable() && outstanding(link)) {
        link.fence_messages = link.peer.messages.posted();
        link.fence_parked   = link.parked;
        for (LinkBulk &bulk : link.bulk) {
            bulk.fence = bulk.issued;
        }
    }
}

void Fabric::fence_all(Member &member)
{
    visit_links(member, [&](Link &link) { fence(link); });
}

} // namespace be::engine
