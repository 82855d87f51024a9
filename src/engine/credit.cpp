// SPDX-License-Identifier: BSD-3-Clause
//
// Executes what the protocol asks for: credit cells, notices, credit that goes back.
//
// Credit cells are plain 8-byte writes on the message queue pair. Requests and answers are zero-length writes with
// an immediate on the bulk queue pair, where each peer has receives of its own (notices_per_peer): one for its
// request and one for its answer to ours, and there is at most one of each under way. An answer carries the total in
// its immediate, so it does not depend on the order of the two queue pairs.

#include "engine/fabric.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace be::engine {

void Fabric::execute(core::Actions &actions)
{
    for (;;) {
        for (const core::Action &action : actions) {
            if (action.kind == core::Action::post_receives) {
                m_receives.want(action.value);
                m_receives_wanted = true;
                continue;
            }
            execute(*m_peers[action.peer], action);
        }
        if (!actions.full()) {
            break;
        }
        actions.clear();
        m_flow.drain(actions);
    }
    if (std::exchange(m_receives_wanted, false)) {
        refill_receives();
    }
}

void Fabric::execute(Peer &peer, const core::Action &action)
{
    switch (action.kind) {
    case core::Action::answer_request:
        send_answer(peer);
        break;
    case core::Action::write_cell:
        // At the end of the batch: a header may carry the total before.
        peer.cell_deferred = true;
        defer(peer);
        break;
    case core::Action::send_request:
        peer.request_value = action.value;
        send_request(peer);
        break;
    case core::Action::return_credit:
        peer.returns_deferred = action.value;
        return_credit(peer);
        break;
    case core::Action::resume: // whoever waits asks can_send() after each progress
    case core::Action::post_receives: // not of one peer
    case core::Action::pump_bulk:
        break;
    case core::Action::send_byte_request: // byte credit and revoking are not configured
    case core::Action::send_revoke:
    case core::Action::send_byte_revoke:
    case core::Action::send_return:
    case core::Action::send_byte_return:
    case core::Action::suspect:
        break;
    }
}

void Fabric::drain_actions()
{
    flow_event([&](core::Actions &actions) { m_flow.drain(actions); });
}

void Fabric::defer(Peer &peer)
{
    if (!std::exchange(peer.deferred, true)) {
        m_deferred.push_back(&peer);
    }
}

unsigned Fabric::retry_deferred()
{
    unsigned done            = 0;
    std::vector<Peer *> &due = m_retrying;
    due.swap(m_deferred);
    for (Peer *peer : due) {
        peer->deferred = false;
        if (peer->state != Peer::State::ready) {
            if (peer->state == Peer::State::connecting) {
                defer(*peer);
            }
            continue;
        }
        if (std::exchange(peer->cell_deferred, false)) {
            write_cell(*peer);
        }
        if (std::exchange(peer->answer_deferred, false)) {
            send_answer(*peer);
        }
        if (std::exchange(peer->request_deferred, false)) {
            send_request(*peer);
        }
        if (peer->returns_deferred != 0) {
            return_credit(*peer);
        }
        if (!peer->notes.empty()) {
            send_notes(*peer);
        }
        done += !peer->deferred;
    }
    due.clear();
    return done;
}

void Fabric::write_cell(Peer &peer)
{
    if (!m_flow.cell_due(peer.index)) {
        return;
    }
    if (peer.messages.room() == 0) {
        peer.cell_deferred = true;
        defer(peer);
        return;
    }
    std::uint64_t word;
    core::store_cell(&word, m_flow.cell(peer.index));
    m_flow.told(peer.index);

    ibv_sge sge{reinterpret_cast<std::uint64_t>(&word), sizeof(word), 0};
    if (m_max_inline < sizeof(word)) {
        const memory::Buffer staging = m_staging.get();
        if (!staging) {
            peer.cell_deferred = true;
            defer(peer);
            return;
        }
        std::memcpy(staging.address, &word, sizeof(word));
        sge = {reinterpret_cast<std::uint64_t>(staging.address), sizeof(word),
               staging.lkey};
        post_cell(peer, sge, {.buffer = staging.address}, 0, true);
        return;
    }
    post_cell(peer, sge, {}, IBV_SEND_INLINE, false);
}

void Fabric::post_cell(Peer &peer, ibv_sge &sge, const Slot &slot, unsigned flags,
                       bool signal)
{
    ibv_send_wr wr{};
    wr.sg_list             = &sge;
    wr.num_sge             = 1;
    wr.opcode              = IBV_WR_RDMA_WRITE;
    wr.send_flags          = flags;
    wr.wr.rdma.remote_addr = peer.remote_cell;
    wr.wr.rdma.rkey        = peer.remote_cell_rkey;
    if (const int error = post(peer.messages, wr, slot, signal); error != 0) {
        io_failure(peer, "a credit update", error);
        return;
    }
    ++m_counters.cells_written;
}

bool Fabric::send_notice(Peer &peer, const core::Notice &notice)
{
    if (peer.state != Peer::State::ready || peer.bulk.room() == 0) {
        return false;
    }
    ibv_send_wr wr{};
    wr.opcode              = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data            = htobe32(core::encode(notice));
    wr.wr.rdma.remote_addr = peer.remote_cell;
    wr.wr.rdma.rkey        = peer.remote_cell_rkey;
    if (const int error = post(peer.bulk, wr, {}, true); error != 0) {
        io_failure(peer, "a notice", error);
    }
    return true;
}

void Fabric::send_request(Peer &peer)
{
    if (!send_notice(peer, {core::Notice::request, peer.request_value})) {
        peer.request_deferred = true;
        defer(peer);
    }
}

void Fabric::send_answer(Peer &peer)
{
    if (!send_notice(peer, {core::Notice::grant, m_flow.granted(peer.index)})) {
        peer.answer_deferred = true;
        defer(peer);
        return;
    }
    m_flow.told(peer.index);
}

void Fabric::return_credit(Peer &peer)
{
    while (peer.returns_deferred != 0 && peer.state == Peer::State::ready) {
        if (peer.queued != 0) {
            peer.returns_deferred = 0; // there is a use for it again
            return;
        }
        if (!m_flow.admit_message(peer.index)) {
            peer.returns_deferred = 0; // used meanwhile
            return;
        }
        const memory::Buffer staging = peer.messages.room() != 0 ? m_staging.get() :
                                                                   memory::Buffer{};
        if (!staging) {
            m_flow.revert_message(peer.index);
            break;
        }
        --peer.returns_deferred;
        ibv_sge sge{reinterpret_cast<std::uint64_t>(staging.address),
                    core::data_header_size, staging.lkey};
        (void)post_message(peer,
                           {.kind = core::HeaderKind::credit, .header = staging.address},
                           {.buffer = staging.address}, &sge, 1, 0, true);
    }
    if (peer.returns_deferred != 0) {
        defer(peer);
    }
}

void Fabric::read_cell(Peer &peer)
{
    const core::CreditCell cell = core::load_cell(
            static_cast<const std::uint64_t *>(peer.cell.address));
    flow_event([&](core::Actions &actions) {
        (void)m_flow.credit_update(peer.index, cell.messages, now(), actions);
    });
}

} // namespace be::engine
