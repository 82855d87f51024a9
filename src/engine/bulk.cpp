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
    if (byte_credit() && link.bulk[1 - kind].done < operation->after_others) {
        ++bulk.held;
    } else {
        offer(*operation);
    }
    pump_bulk();
}

// With byte credit that is asked for: not for what waits behind a fence. If both ends held credit for puts behind gets,
// neither might have any left to read with.
void Fabric::offer(BulkOperation &operation)
{
    const std::uint32_t index  = operation.link->peer.index;
    const core::BulkKind kind  = core_kind(operation.kind);
    const std::uint64_t charge = m_flow.charge(operation.unposted);
    operation.offered          = true;
    if (!byte_credit()) {
        m_flow.bulk_queued(index, charge, kind);
        return;
    }
    flow_event([&](core::Actions &actions) {
        m_flow.bulk_queued(index, charge, kind, now(), actions);
    });
}

// Those of the other kind that waited for it behind a fence wait for credit now.
void Fabric::operation_over(Link &link, unsigned kind)
{
    const std::uint64_t done = ++link.bulk[kind].done;
    LinkBulk &others         = link.bulk[1 - kind];
    if (others.held == 0 || !link.peer.usable()) [[likely]] {
        return;
    }
    others.operations.for_each([&](BulkOperation &operation) {
        if (!operation.offered && operation.after_others <= done) {
            --others.held;
            offer(operation);
        }
    });
    m_bulk_due = true;
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
// passed over. If that is all there is of a kind, the other uses what was admitted: the fence may be waiting for what
// would wait for the window behind it.
void Fabric::post_admitted(Peer &peer)
{
    const unsigned first  = peer.bulk_turn;
    const unsigned second = 1 - first;
    peer.bulk_turn        = second;
    if (!post_admitted(peer, static_cast<BulkOperation::Kind>(first)) ||
        !post_admitted(peer, static_cast<BulkOperation::Kind>(second))) {
        return;
    }
    if (!byte_credit()) { // there each kind has its own
        lend_admitted(peer, static_cast<BulkOperation::Kind>(first));
        lend_admitted(peer, static_cast<BulkOperation::Kind>(second));
    }
}

// What is admitted to `held` and not posted waits for a fence.
void Fabric::lend_admitted(Peer &peer, BulkOperation::Kind held)
{
    const auto lender         = static_cast<unsigned>(held);
    const auto other          = static_cast<BulkOperation::Kind>(1 - lender);
    const std::uint64_t bytes = std::min(peer.admitted[lender],
                                         m_flow.bulk_waiting(peer.index,
                                                             core_kind(other)));
    if (bytes == 0) {
        return;
    }
    m_flow.bulk_cancelled(peer.index, bytes, core_kind(other));
    m_flow.bulk_queued(peer.index, bytes, core_kind(held));
    peer.admitted[lender] -= bytes;
    peer.admitted[1 - lender] += bytes;
    (void)post_admitted(peer, other);
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
        if (!m_sends.room()) {
            reclaim_sends();
            defer(peer);
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
        if (operation.all_posted()) {
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

// A write, and where it takes one the count of it: with byte credit the peer counts them itself. What asks for a
// completion asks for that of the last. ENOBUFS: nothing was posted, there is no staging buffer for the count now.
int Fabric::post_write(Peer &peer, ibv_send_wr &wr, Slot &slot, bool signal)
{
    Word count{};
    const bool counted = peer.counts_writes;
    if (counted && !make_word(count, peer.writes_posted + 1)) {
        return ENOBUFS;
    }
    announce_write(peer, wr);
    if (const int error = post(peer, peer.bulk, wr, slot, signal && !counted);
        error != 0) {
        if (count.staging) {
            m_staging.put(count.staging);
        }
        return error;
    }
    ++peer.writes_posted;
    return counted ? post_word(peer, peer.bulk, count,
                               {.kind = Slot::Kind::count, .value = peer.writes_posted},
                               peer.remote_cell + sizeof(std::uint64_t), signal) :
                     0;
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
    Slot slot{.kind   = Slot::Kind::bulk,
              .bytes  = static_cast<std::uint32_t>(m_flow.charge(bytes)),
              .object = &operation,
              .value  = operation.posted,
              .length = static_cast<std::uint32_t>(bytes),
              .key    = peer.writes_posted};
    ibv_send_wr wr = bulk_piece(slot, sges);

    operation.posted += bytes;
    operation.unposted -= bytes;
    operation.posted_any = true;
    ++operation.in_flight;
    const int error = operation.kind == BulkOperation::Kind::get ?
                              post(peer, peer.bulk, wr, slot, true) :
                              post_write(peer, wr, slot, true);
    if (error != 0) {
        --operation.in_flight;
        operation.posted -= bytes;
        operation.unposted += bytes; // tried again, or cancelled with the peer
        if (error == ENOBUFS) {
            defer(peer);
            return false;
        }
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
    if (operation.in_flight == 0 && operation.all_posted()) {
        operation_done(operation);
    }
}

void Fabric::operation_done(BulkOperation &operation)
{
    const auto kind = static_cast<unsigned>(operation.kind);
    Link &link      = *operation.link;
    Member &member  = link.member;
    operation_over(link, kind);
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
    Peer &peer                = operation.link->peer;
    const core::BulkKind kind = core_kind(operation.kind);
    const std::uint64_t left  = operation.offered ? m_flow.charge(operation.unposted) : 0;
    const std::uint64_t waiting = std::min(left, m_flow.bulk_waiting(peer.index, kind));
    operation.link->bulk[static_cast<unsigned>(operation.kind)].held -= !operation.offered;
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
