// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of put and get: posted as the window admits them, oldest operation first, peers in turn.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <algorithm>
#include <utility>

namespace be::engine {
namespace {

// The window counts an operation of no bytes as one: it occupies the queue all the same.
std::uint64_t charge(std::size_t length) noexcept
{
    return std::max<std::uint64_t>(length, 1);
}

} // namespace

void Fabric::enqueue(Link &link, BulkOperation *operation, std::size_t length)
{
    operation->link     = &link;
    operation->unposted = length;
    operation->after    = link.fence_messages;
    ++link.bulk_issued;
    (operation->kind == BulkOperation::Kind::put ? m_counters.bytes_put :
                                                   m_counters.bytes_got) += length;
    if (link.operations.empty()) {
        link.turn = static_cast<std::int64_t>(m_config.chunk);
        link.peer.bulk_links.push(&link);
    }
    link.operations.push(operation);
    m_flow.bulk_queued(link.peer.index, charge(length));
    pump_bulk();
}

void Fabric::pump_bulk()
{
    while (const core::BulkGrant grant = m_flow.next_bulk(now())) {
        Peer &peer = *m_peers[grant.peer];
        peer.admitted += grant.bytes;
        post_admitted(peer);
    }
}

// What cannot be posted now stays admitted, and is tried again when a completion of this peer makes room. Links take
// turns by deficit round robin, equal in bytes; one that a fence holds back is passed over.
void Fabric::post_admitted(Peer &peer)
{
    const auto chunk = static_cast<std::int64_t>(m_config.chunk);
    for (unsigned fenced = 0; peer.admitted != 0 && fenced < peer.bulk_links.size() &&
                              peer.state == Peer::State::ready;) {
        Link &link               = *peer.bulk_links.front();
        BulkOperation &operation = *link.operations.front();
        if (peer.bulk.room() <= bulk_reserve) {
            return;
        }
        if (peer.messages.retired() < operation.after) {
            ++fenced;
            peer.bulk_links.rotate();
            continue;
        }
        fenced                  = 0;
        const std::size_t bytes = std::min<std::uint64_t>(
                {operation.unposted, peer.admitted, m_config.chunk});
        if (!post_piece(peer, operation, bytes)) {
            return;
        }
        peer.admitted -= charge(bytes);
        link.turn -= static_cast<std::int64_t>(charge(bytes));
        if (operation.posted()) {
            link.operations.pop();
        }
        if (link.operations.empty()) {
            peer.bulk_links.pop();
        } else if (link.turn <= 0) {
            link.turn += chunk;
            peer.bulk_links.rotate();
        }
    }
}

bool Fabric::post_piece(Peer &peer, BulkOperation &operation, std::size_t bytes)
{
    std::array<ibv_sge, BE_MAX_SGE> sges;
    int count        = 0;
    std::size_t left = bytes;
    while (left != 0) {
        const be_sge_t &part     = operation.sge[operation.sge_index];
        const std::size_t length = std::min(left, part.length - operation.sge_offset);
        sges[count++]            = {reinterpret_cast<std::uint64_t>(part.address) +
                                            operation.sge_offset,
                                    static_cast<std::uint32_t>(length), part.lkey};
        operation.sge_offset += length;
        left -= length;
        if (operation.sge_offset == part.length) {
            operation.sge_offset = 0;
            ++operation.sge_index;
        }
    }

    ibv_send_wr wr{};
    wr.sg_list = sges.data();
    wr.num_sge = count;
    wr.opcode  = operation.kind == BulkOperation::Kind::put ? IBV_WR_RDMA_WRITE :
                                                              IBV_WR_RDMA_READ;
    wr.wr.rdma.remote_addr = operation.remote;
    wr.wr.rdma.rkey        = operation.rkey;

    operation.remote += bytes;
    operation.unposted -= bytes;
    operation.posted_any = true;
    ++operation.in_flight;
    const Slot slot{.kind   = Slot::Kind::bulk,
                    .bytes  = static_cast<std::uint32_t>(charge(bytes)),
                    .object = &operation};
    if (const int error = post(peer.bulk, wr, slot, true); error != 0) {
        --operation.in_flight;
        operation.unposted +=
                bytes; // keeps it in the queue, to be cancelled with the peer
        io_failure(peer, operation.kind == BulkOperation::Kind::put ? "a put" : "a get",
                   error);
        return false;
    }
    return true;
}

void Fabric::piece_done(Peer &peer, BulkOperation &operation, std::uint32_t bytes,
                        be_status_t status)
{
    m_flow.bulk_done(peer.index, bytes);
    --operation.in_flight;
    if (status != BE_OK && operation.status == BE_OK) {
        operation.status = status;
    }
    if (operation.in_flight == 0 && operation.posted()) {
        operation_done(operation);
    }
}

void Fabric::operation_done(BulkOperation &operation)
{
    Member &member = operation.link->member;
    ++operation.link->bulk_done;
    const be_status_t status = operation.status;
    void *completion         = operation.completion;
    if (operation.staging != nullptr) {
        if (operation.kind == BulkOperation::Kind::get && status == BE_OK) {
            m_counters.bytes_copied += operation.unpack_length;
            if (m_lock.shared()) {
                // It comes back when its data has been taken.
                member.post({.kind = Mail::Kind::data, .object = &operation});
                return;
            }
            member.unpack(operation);
        }
        (void)m_staging.put(operation.staging);
    }
    m_operations.put(&operation);
    member.complete(completion, status);
}

void Fabric::cancel_operations(Peer &peer)
{
    peer.admitted = 0;
    while (!peer.bulk_links.empty()) {
        Link &link = *peer.bulk_links.pop();
        while (!link.operations.empty()) {
            BulkOperation &operation = *link.operations.pop();
            operation.status         = BE_ERR_PEER_FAILED;
            operation_done(operation);
        }
    }
}

// Of a member that leaves: what is not posted never will be.
void Fabric::cancel_operations(const Member &member)
{
    visit_links(member, [&](Link &link) {
        Peer &peer = link.peer;
        if (link.operations.empty()) {
            return;
        }
        for (unsigned i = peer.bulk_links.size(); i != 0; --i) {
            if (Link *other = peer.bulk_links.pop(); other != &link) {
                peer.bulk_links.push(other);
            }
        }
        while (!link.operations.empty()) {
            BulkOperation &operation = *link.operations.pop();
            // The window counts some of it as waiting, and some as under way already.
            const std::uint64_t left    = charge(operation.unposted);
            const std::uint64_t waiting = std::min(left,
                                                   m_flow.stats(peer.index).bulk_queued);
            m_flow.bulk_cancelled(peer.index, waiting);
            if (waiting < left) {
                m_flow.bulk_done(peer.index, left - waiting);
                peer.admitted -= left - waiting;
            }
            operation.status     = BE_ERR_CANCELED;
            operation.unposted   = 0;
            operation.posted_any = true;
            if (operation.in_flight == 0) {
                operation_done(operation);
            }
        }
    });
}

} // namespace be::engine
