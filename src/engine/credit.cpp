// SPDX-License-Identifier: BSD-3-Clause
//
// Executes what the protocol asks for: credit cells, notices, credit that goes back. Credit cells are plain 8-byte
// writes on the message queue pair.

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
            if (action.kind == core::Action::pump_bulk) {
                m_bulk_due = true;
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
    using core::Notice;
    switch (action.kind) {
    case core::Action::answer_request:
        notify(peer, Notice::grant, action.value);
        break;
    case core::Action::write_cell:
        // At the end of the batch: a header may carry the total before.
        peer.cell_deferred = true;
        defer(peer);
        break;
    case core::Action::send_request:
        notify(peer, Notice::request, action.value);
        break;
    case core::Action::return_credit:
        peer.returns_deferred = action.value;
        return_credit(peer);
        break;
    case core::Action::send_byte_request:
        notify(peer, Notice::byte_request, action.value);
        break;
    case core::Action::send_revoke:
        notify(peer, Notice::revoke, action.value);
        break;
    case core::Action::send_byte_revoke:
        notify(peer, Notice::byte_revoke, action.value);
        break;
    case core::Action::send_return:
        notify(peer, Notice::give_back, action.value);
        break;
    case core::Action::send_byte_return:
        notify(peer, Notice::byte_return, action.value);
        break;
    case core::Action::send_wake:
        notify(peer, Notice::wake, action.value);
        break;
    case core::Action::send_woken:
        notify(peer, Notice::woken, action.value);
        break;
    case core::Action::resume: // others who wait ask can_send() after each progress
        if (!peer.parked.empty()) {
            unpark(peer);
        }
        break;
    case core::Action::pump_bulk: // neither is of one peer
    case core::Action::post_receives:
    case core::Action::suspect: // not configured
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

// In turns: when there is no more room, those that have not been tried are the next ones.
unsigned Fabric::retry_deferred()
{
    unsigned done            = 0;
    std::vector<Peer *> &due = m_retrying;
    due.swap(m_deferred);
    auto next = due.begin();
    for (; next != due.end(); ++next) {
        if (!m_sends.room_for_protocol()) {
            reclaim_sends();
            break;
        }
        Peer *const peer = *next;
        peer->deferred   = false;
        if (peer->state != Peer::State::ready) {
            if (peer->usable()) {
                defer(*peer);
            }
            continue;
        }
        if (std::exchange(peer->marker_deferred, false)) {
            mark_tails(*peer);
        }
        if (std::exchange(peer->cell_deferred, false)) {
            write_cell(*peer);
        }
        if (peer->notices != 0) {
            send_notices(*peer);
        }
        if (!peer->parked.empty()) {
            unpark(*peer);
        }
        if (peer->returns_deferred != 0) {
            return_credit(*peer);
        }
        if (!peer->notes.empty()) {
            send_notes(*peer);
        }
        if (peer->admitted[0] + peer->admitted[1] != 0) {
            post_admitted(*peer);
        }
        done += !peer->deferred;
    }
    m_deferred.insert(m_deferred.begin(), next, due.end());
    due.clear();
    return done;
}

void Fabric::write_cell(Peer &peer)
{
    if (!m_flow.cell_due(peer.index)) {
        return;
    }
    if (peer.messages.room() == 0 || !m_sends.room_for_protocol()) {
        peer.cell_deferred = true;
        defer(peer);
        return;
    }
    Word word{};
    if (!make_word(word, 0)) {
        peer.cell_deferred = true;
        defer(peer);
        return;
    }
    core::store_cell(&word.value, m_flow.take_cell(peer.index));
    if (const int error = post_word(peer, peer.messages, word,
                                    {.kind  = Slot::Kind::cell,
                                     .value = le64toh(word.value)},
                                    peer.remote_cell, false);
        error != 0) {
        io_failure(peer, "a credit update", error);
        return;
    }
    ++m_counters.cells_written;
}

// False: it would need a staging buffer and there is none.
bool Fabric::make_word(Word &word, std::uint64_t value)
{
    word.value = htole64(value);
    if (m_max_inline < sizeof(value)) {
        word.staging = m_staging.get();
    }
    return m_max_inline >= sizeof(value) || word.staging;
}

int Fabric::post_word(Peer &peer, SendQueue &queue, Word &word, Slot slot,
                      std::uint64_t remote, bool signal)
{
    ibv_sge sge{};
    ibv_send_wr wr  = write_word(word, remote, peer.remote_cell_rkey, sge);
    slot.buffer     = word.staging.address;
    slot.key        = word.staging.lkey;
    const int error = post(peer, queue, wr, slot, signal || word.staging);
    if (error != 0 && word.staging) {
        m_staging.put(word.staging);
    }
    return error;
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
        const bool room = peer.messages.room() != 0 && m_sends.room_for_protocol();
        const memory::Buffer staging = room ? m_staging.get() : memory::Buffer{};
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

// When somebody wants to hear of the time.
std::uint64_t Fabric::due_ns() const noexcept
{
    std::uint64_t due = m_recoverer.due_ns();
    if (m_sends.signals() != 0) {
        due = std::min(due, m_recoverer.look_at_ns());
    }
    if (byte_credit()) {
        due = std::min(due, m_flow.tick_due_ns());
    }
    for (const auto *peers : {&m_draining, &m_expected}) {
        for (const Peer *peer : *peers) {
            due = std::min(due, static_cast<std::uint64_t>(
                                        peer->deadline.time_since_epoch().count()));
        }
    }
    return due;
}

void Fabric::read_cell(Peer &peer)
{
    const core::CreditCell cell = core::load_cell(
            static_cast<const std::uint64_t *>(peer.cell.address));
    flow_event([&](core::Actions &actions) {
        (void)m_flow.credit_update(peer.index, cell, now(), actions);
    });
}

// A cell is silent: whoever waits for bytes looks at it.
void Fabric::look_for_bytes()
{
    for (unsigned count = m_flow.byte_waits(); count != 0; --count) {
        const std::uint32_t index = m_flow.next_byte_wait();
        if (index == core::IndexList::none) {
            return; // the last one has got some
        }
        Peer &peer = *m_peers[index];
        if (peer.state != Peer::State::ready) {
            continue;
        }
        const auto *word         = static_cast<const std::uint64_t *>(peer.cell.address);
        const std::uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (seen != peer.cell_seen) {
            peer.cell_seen = seen;
            read_cell(peer);
        }
    }
}

// Whoever owes us bytes is asked for a notice when he grants them; our own pool may want to hear of the time. False:
// the queues can raise no event.
bool Fabric::fall_asleep()
{
    if (m_receives.missing()) {
        refill_receives();
    }
    if (byte_credit()) {
        look_for_bytes();
        if (m_bulk_due) {
            pump_bulk();
        }
        flow_event([&](core::Actions &actions) { m_flow.sleep(now(), actions); });
    }
    m_timer.set(due_ns());
    m_tcp.rest();
    (void)m_channel.acknowledge();
    if (m_receive_cq.arm() == 0 && m_send_cq.arm() == 0) {
        return true;
    }
    queue_failure("completion");
    return false;
}

} // namespace be::engine
