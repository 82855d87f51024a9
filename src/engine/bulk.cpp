// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of put and get: posted as the window admits them, oldest operation first, peers in turn.

#include "engine/fabric.hpp"

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

void Fabric::enqueue(Peer &peer, BulkOperation *operation, std::size_t length)
{
    operation->unposted = length;
    operation->after    = peer.fence_messages;
    ++peer.bulk_issued;
    (operation->kind == BulkOperation::Kind::put ? m_counters.bytes_put :
                                                   m_counters.bytes_got) += length;
    peer.operations.push(operation);
    m_flow.bulk_queued(peer.index, charge(length));
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

// What cannot be posted now stays admitted, and is tried again when a completion of this peer makes room.
void Fabric::post_admitted(Peer &peer)
{
    while (peer.admitted != 0 && !peer.operations.empty() &&
           peer.state == Peer::State::ready) {
        BulkOperation &operation = *peer.operations.front();
        if (peer.messages.retired() < operation.after ||
            peer.bulk.room() <= bulk_reserve) {
            return;
        }
        const std::size_t bytes = std::min<std::uint64_t>(operation.unposted,
                                                          peer.admitted);
        if (!post_piece(peer, operation, bytes)) {
            return;
        }
        peer.admitted -= charge(bytes);
        if (operation.posted()) {
            peer.operations.pop();
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
        operation_done(peer, operation);
    }
}

void Fabric::operation_done(Peer &peer, BulkOperation &operation)
{
    ++peer.bulk_done;
    const be_status_t status = operation.status;
    void *completion         = operation.completion;
    if (operation.staging != nullptr) {
        if (operation.kind == BulkOperation::Kind::get && status == BE_OK) {
            m_counters.bytes_copied += operation.unpack_length;
            m_callbacks.unpack(m_callbacks.arg, operation.unpack_func,
                               operation.unpack_arg, operation.staging,
                               operation.unpack_length);
        }
        (void)m_staging.put(operation.staging);
    }
    m_operations.put(&operation);
    complete(completion, status);
}

void Fabric::cancel_operations(Peer &peer)
{
    peer.admitted = 0;
    while (!peer.operations.empty()) {
        BulkOperation &operation = *peer.operations.pop();
        operation.status         = BE_ERR_PEER_FAILED;
        operation_done(peer, operation);
    }
}

} // namespace be::engine
