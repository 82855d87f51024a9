// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of put and get: posted as credit and the window admit them, oldest operation first, peers in turn.
//
// With byte credit a piece of a put is a write with an immediate: the peer learns how many bytes came, and how many
// more are wanted.

#include "engine/fabric.hpp"
#include "engine/member.hpp"

#include <algorithm>
#include <utility>

namespace be::engine {

namespace {

constexpr core::BulkKind core_kind(BulkOperation::Kind kind)
{
    return kind == BulkOperation::Kind::put ? core::BulkKind::write :
                                              core::BulkKind::read;
}

} // namespace

void Fabric::enqueue(Link &link, BulkOperation *operation, std::size_t length)
{
    const auto kind         = static_cast<unsigned>(operation->kind);
    LinkBulk &bulk          = link.bulk[kind];
    Peer &peer              = link.peer;
    operation->link         = &link;
    operation->unposted     = length;
    operation->after        = link.fence_messages;
    operation->after_others = link.bulk[1 - kind].fence;
    ++bulk.issued;
    (operation->kind == BulkOperation::Kind::put ? m_counters.bytes_put :
                                                   m_counters.bytes_got) += length;
    if (bulk.operations.empty()) {
        bulk.turn = static_cast<std::int64_t>(m_chunk);
        peer.bulk_links[kind].push(&bulk);
    }
    bulk.operations.push(operation);
    if (byte_credit()) {
        flow_event([&](core::Actions &actions) {
            m_flow.bulk_queued(peer.index, m_flow.charge(length),
                               core_kind(operation->kind), now(), actions);
        });
    } else {
        m_flow.bulk_queued(peer.index, m_flow.charge(length), core_kind(operation->kind));
    }
    pump_bulk();
}

void Fabric::pump_bulk()
{
    m_bulk_due = false;
    while (const core::BulkGrant grant = m_flow.next_bulk(now())) {
        Peer &peer = *m_peers[grant.peer];
        peer.admitted[static_cast<unsigned>(grant.kind)] += grant.bytes;
        post_admitted(peer);
    }
    if (byte_credit()) {
        drain_actions();
    }
}

// What cannot be posted now stays admitted, and is tried again when a completion of this peer makes room. The kinds
// take turns, and within each the links, by deficit round robin, equal in bytes; one that a fence holds back is
// passed over.
void Fabric::post_admitted(Peer &peer)
{
    const auto first = static_cast<BulkOperation::Kind>(peer.bulk_turn);
    peer.bulk_turn   = 1 - peer.bulk_turn;
    if (post_admitted(peer, first)) {
        (void)post_admitted(peer, static_cast<BulkOperation::Kind>(peer.bulk_turn));
    }
}

// False: there is no room for more of either kind.
bool Fabric::post_admitted(Peer &peer, BulkOperation::Kind kind)
{
    const auto chunk        = static_cast<std::int64_t>(m_chunk);
    Fifo<LinkBulk> &links   = peer.bulk_links[static_cast<unsigned>(kind)];
    std::uint64_t &admitted = peer.admitted[static_cast<unsigned>(kind)];
    for (unsigned fenced = 0;
         admitted != 0 && fenced < links.size() && peer.state == Peer::State::ready;) {
        LinkBulk &bulk           = *links.front();
        BulkOperation &operation = *bulk.operations.front();
        if (peer.bulk.room() <= bulk_reserve) {
            return false;
        }
        if (peer.messages.retired() < operation.after ||
            bulk.link->bulk[1 - static_cast<unsigned>(kind)].done <
                    operation.after_others) {
            ++fenced;
            links.rotate();
            continue;
        }
        fenced                  = 0;
        const std::size_t bytes = std::min<std::uint64_t>(
                {operation.unposted, admitted, m_chunk});
        if (!post_piece(peer, operation, bytes)) {
            return false;
        }
        const std::uint64_t charge = m_flow.charge(bytes);
        admitted -= charge;
        bulk.turn -= static_cast<std::int64_t>(charge);
        if (operation.posted()) {
            bulk.operations.pop();
        }
        if (bulk.operations.empty()) {
            links.pop();
        } else if (bulk.turn <= 0) {
            bulk.turn += chunk;
            links.rotate();
        }
    }
    return true;
}

// With byte credit the peer hears of it.
void Fabric::announce_write(Peer &peer, ibv_send_wr &wr)
{
    wr.opcode = IBV_WR_RDMA_WRITE;
    if (byte_credit()) {
        wr.opcode   = IBV_WR_RDMA_WRITE_WITH_IMM;
        wr.imm_data = htobe32(core::encode(m_flow.stamp_bulk(peer.index)));
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
    if (operation.kind == BulkOperation::Kind::get) {
        wr.opcode = IBV_WR_RDMA_READ;
    } else {
        announce_write(peer, wr);
    }
    wr.wr.rdma.remote_addr = operation.remote;
    wr.wr.rdma.rkey        = operation.rkey;

    operation.remote += bytes;
    operation.unposted -= bytes;
    operation.posted_any = true;
    ++operation.in_flight;
    const Slot slot{.kind   = Slot::Kind::bulk,
                    .bytes  = static_cast<std::uint32_t>(m_flow.charge(bytes)),
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
    if (byte_credit() && operation.kind == BulkOperation::Kind::get) {
        flow_event([&](core::Actions &actions) {
            m_flow.read_done(peer.index, bytes, now(), actions);
        });
    } else {
        m_flow.bulk_done(peer.index, bytes);
    }
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
    ++operation.link->bulk[static_cast<unsigned>(operation.kind)].done;
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
    peer.admitted = {};
    for (Fifo<LinkBulk> &links : peer.bulk_links) {
        while (!links.empty()) {
            LinkBulk &bulk = *links.pop();
            while (!bulk.operations.empty()) {
                BulkOperation &operation = *bulk.operations.pop();
                operation.status         = BE_ERR_PEER_FAILED;
                operation_done(operation);
            }
        }
    }
}

// Of a member that leaves: what is not posted never will be.
void Fabric::cancel_operations(const Member &member)
{
    visit_links(member, [&](Link &link) {
        for (unsigned kind = 0; kind < link.bulk.size(); ++kind) {
            LinkBulk &bulk        = link.bulk[kind];
            Fifo<LinkBulk> &links = link.peer.bulk_links[kind];
            if (bulk.operations.empty()) {
                continue;
            }
            for (unsigned i = links.size(); i != 0; --i) {
                if (LinkBulk *other = links.pop(); other != &bulk) {
                    links.push(other);
                }
            }
            while (!bulk.operations.empty()) {
                cancel_operation(*bulk.operations.pop());
            }
        }
    });
}

// The protocol counts some of it as waiting, and some as under way already.
void Fabric::cancel_operation(BulkOperation &operation)
{
    Peer &peer                  = operation.link->peer;
    const core::BulkKind kind   = core_kind(operation.kind);
    const std::uint64_t left    = m_flow.charge(operation.unposted);
    const std::uint64_t waiting = std::min(left, m_flow.bulk_waiting(peer.index, kind));
    m_flow.bulk_cancelled(peer.index, waiting, kind);
    if (waiting < left) {
        flow_event([&](core::Actions &actions) {
            m_flow.bulk_reverted(peer.index, left - waiting, kind, now(), actions);
        });
        peer.admitted[static_cast<unsigned>(operation.kind)] -= left - waiting;
    }
    operation.status     = BE_ERR_CANCELED;
    operation.unposted   = 0;
    operation.posted_any = true;
    if (operation.in_flight == 0) {
        operation_done(operation);
    }
}

} // namespace be::engine
