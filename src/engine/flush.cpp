// SPDX-License-Identifier: BSD-3-Clause
//
// Flush and fence, and the marker that makes both possible on a queue whose newest work asked for no completion:
// a write of no bytes, signalled.

#include "engine/fabric.hpp"

namespace be::engine {

void Fabric::post_marker(Peer &peer, SendQueue &queue)
{
    ibv_send_wr wr{};
    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = peer.remote_cell;
    wr.wr.rdma.rkey        = peer.remote_cell_rkey;
    if (const int error = post(queue, wr, {.kind = Slot::Kind::marker}, true);
        error != 0 && peer.usable()) {
        io_failure(peer, "a marker", error);
    }
}

// True when something is outstanding, whose completion is then on its way.
bool Fabric::outstanding(Peer &peer)
{
    if (peer.idle()) {
        return false;
    }
    for (SendQueue *queue : {&peer.messages, &peer.bulk}) {
        if (!queue->idle() && !queue->tail_signalled() &&
            peer.state == Peer::State::ready) {
            post_marker(peer, *queue);
        }
    }
    return true;
}

be_status_t Fabric::flush(Peer &peer, void *completion)
{
    if (peer.state == Peer::State::dead || !outstanding(peer)) {
        return peer.usable() || peer.departed ? BE_OK : peer.status;
    }
    if (completion != nullptr) {
        add_waiter(peer, new_flush(completion, 1));
    }
    return BE_INPROGRESS;
}

be_status_t Fabric::flush_all(void *completion)
{
    Flush *flush = nullptr;
    bool busy    = false;
    for (const auto &peer : m_peers) {
        if (peer == nullptr || !outstanding(*peer)) {
            continue;
        }
        busy = true;
        if (completion != nullptr) {
            if (flush == nullptr) {
                flush = new_flush(completion, 0);
            }
            ++flush->peers_left;
            add_waiter(*peer, flush);
        }
    }
    return busy ? BE_INPROGRESS : BE_OK;
}

Flush *Fabric::new_flush(void *completion, unsigned peers)
{
    if (m_free_flushes.empty()) {
        m_flushes.emplace_back();
        m_free_flushes.push_back(&m_flushes.back());
    }
    Flush *flush = m_free_flushes.back();
    m_free_flushes.pop_back();
    *flush = {completion, peers, BE_OK};
    return flush;
}

void Fabric::add_waiter(Peer &peer, Flush *flush)
{
    peer.waiters.push_back({peer.messages.posted(), peer.bulk_issued, flush});
}

void Fabric::check_waiters(Peer &peer)
{
    while (!peer.waiters.empty()) {
        const FlushWaiter &waiter = peer.waiters.front();
        if (peer.messages.retired() < waiter.messages || peer.bulk_done < waiter.bulk) {
            return;
        }
        Flush *flush = waiter.flush;
        peer.waiters.pop_front();
        flush_step(flush, peer.lost ? BE_ERR_PEER_FAILED : BE_OK);
    }
}

void Fabric::flush_step(Flush *flush, be_status_t status)
{
    if (status != BE_OK) {
        flush->status = status;
    }
    if (--flush->peers_left == 0) {
        const Flush done = *flush;
        m_free_flushes.push_back(flush);
        complete(done.completion, done.status);
    }
}

void Fabric::fence(Peer &peer)
{
    if (peer.state == Peer::State::ready && outstanding(peer)) {
        peer.fence_messages = peer.messages.posted();
        peer.fence_bulk     = peer.bulk_issued;
    }
}

void Fabric::fence_all()
{
    for (const auto &peer : m_peers) {
        if (peer != nullptr) {
            fence(*peer);
        }
    }
}

} // namespace be::engine
