// SPDX-License-Identifier: BSD-3-Clause
#include "relay_errand.h"

#include "cq.h"
#include "guard.h"
#include "keys.h"
#include "mr.h"
#include "mw.h"
#include "operation.h"
#include "packet_source.h"

namespace softrdma {
namespace {

void answer(relay_shared &request, const outcome &result)
{
    request.answer    = static_cast<uint32_t>(result.what);
    request.status    = static_cast<uint32_t>(result.status);
    request.rnr_timer = result.rnr_timer;
}

bool takes_receive(relay_kind kind)
{
    return (kind == relay_kind::message) || (kind == relay_kind::write_with_immediate);
}

bool is_atomic(relay_kind kind)
{
    return (kind == relay_kind::swap) || (kind == relay_kind::add);
}

uint32_t needed_access(relay_kind kind)
{
    if (is_atomic(kind)) {
        return IBV_ACCESS_REMOTE_ATOMIC;
    }
    return (kind == relay_kind::read) ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

} // namespace

qp_shared &errand::target() const
{
    return m_owner->seg.base()->qps[m_qp];
}

rq_shared &errand::queue() const
{
    qp_shared &qp = target();
    return (qp.srq != 0) ? m_owner->seg.base()->srqs[qp.srq] : qp.rq;
}

uint32_t errand::number() const
{
    return (m_owner->reg.own_slot() << limits::qp_bits) | m_qp;
}

void errand::let_go()
{
    if (m_queue != nullptr) {
        return_receive(m_owner->token(), m_owner->seg.base(), *m_queue, m_receive.index);
        m_queue = nullptr;
    }
}

bool errand::proceed(const relay_window &window, peer &from)
{
    for (;;) {
        switch (next_piece(window)) {
        case step::over:
            return true;
        case step::waits:
            return false;
        case step::moved:
            from.call(m_owner->reg.entry(from.slot).doorbell_fd, 0);
        }
    }
}

errand::step errand::next_piece(const relay_window &window)
{
    relay_shared &request = window.entry;
    // Memory and queue pair are not given away meanwhile.
    execution_guard guard(m_owner->reg, m_owner->reg.own_slot());
    if (!accepts(target(), request.from)) {
        let_go();
        answer(request, outcome::no_response());
        return step::over;
    }
    if (takes_receive(request.kind) && (m_queue == nullptr) && !take_receive(request)) {
        return step::over;
    }
    memory_list memory;
    if (!find_memory(request, memory)) {
        return step::over;
    }
    bool moved  = false;
    int failure = move(window, memory, moved);
    if (failure != 0) {
        transfer_failed(request);
        return step::over;
    }
    bool reads = !takes_receive(request.kind) && (request.kind != relay_kind::write);
    uint64_t place =
            (reads ? request.filled : request.drained).load(std::memory_order_relaxed);
    if (place != request.length) {
        return moved ? step::moved : step::waits;
    }
    complete(request);
    return step::over;
}

bool errand::take_receive(relay_shared &request)
{
    rq_shared &from = queue();
    if (!claim_receive(m_owner->token(), m_owner->seg.base(), from, m_receive)) {
        m_owner->reg.port(m_owner->reg.own_slot(), target().device)
                .responder.out_of_buffer.add();
        answer(request, outcome::no_receive(target().min_rnr_timer));
        return false;
    }
    m_queue = &from;
    if (m_receive.limit_reached) {
        m_owner->self().ring_doorbell(m_owner->background.doorbell_fd());
    }
    if ((request.kind == relay_kind::message) &&
        (request.length > m_receive.slot->total)) {
        fail_receive(request, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
        return false;
    }
    return true;
}

bool errand::find_memory(relay_shared &request, memory_list &memory)
{
    segment_layout *own = m_owner->seg.base();
    if (request.kind == relay_kind::message) {
        if (receive_memory(own, *m_queue, *m_receive.slot, memory)) {
            return true;
        }
        fail_receive(request, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
        return false;
    }
    qp_shared &qp   = target();
    uint32_t access = needed_access(request.kind);
    uint64_t addr   = 0;
    bool allowed    = (qp.access & access) != 0;
    if (allowed) {
        addr = find_remote_memory(own, request.rkey, qp.pd, number(), access,
                                  request.addr, request.length);
    }
    if (addr != 0) {
        memory.add(addr, request.length);
        return true;
    }
    let_go();
    fail_queue_pair(*m_owner, m_owner->self(), qp,
                    allowed ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
    answer(request,
           outcome::failed(allowed ? IBV_WC_REM_ACCESS_ERR : IBV_WC_REM_INV_REQ_ERR));
    return false;
}

int errand::move(const relay_window &window, const memory_list &memory, bool &moved)
{
    relay_shared &request = window.entry;
    if (is_atomic(request.kind)) {
        return change_word(window, memory, moved);
    }
    if (request.kind == relay_kind::read) {
        return fill(window, memory, moved);
    }
    return drain(window, part_of(memory, 0, request.length), moved);
}

int errand::change_word(const relay_window &window, const memory_list &word, bool &moved)
{
    relay_shared &request = window.entry;
    shared_lock &lock     = m_owner->seg.base()->atomics;
    lock.lock(m_owner->token());
    uint64_t before = 0;
    int failure     = read_word(window, word, before);
    bool swaps      = request.kind == relay_kind::swap;
    if ((failure == 0) && (!swaps || (before == request.operand))) {
        failure = write_word(window, word,
                             swaps ? request.swap : before + request.operand);
    }
    lock.unlock();
    if (failure == 0) {
        moved = true;
        request.filled.store(sizeof(before), std::memory_order_release);
    }
    return failure;
}

void errand::complete(relay_shared &request)
{
    if (takes_receive(request.kind)) {
        bool invalidates = (request.receive.wc_flags & IBV_WC_WITH_INV) != 0;
        if (invalidates &&
            !invalidate_remote(m_owner->seg.base(), request.receive.imm_data, target().pd,
                               number())) {
            fail_receive(request, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
            return;
        }
        end_receive(request, IBV_WC_SUCCESS);
    }
    answer(request, outcome::done(request.length));
}

// The memory was allowed, but is not there.
void errand::transfer_failed(relay_shared &request)
{
    if (m_queue != nullptr) {
        fail_receive(request, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
        return;
    }
    fail_queue_pair(*m_owner, m_owner->self(), target(), IBV_EVENT_QP_FATAL);
    answer(request, outcome::failed(IBV_WC_REM_OP_ERR));
}

// Completes the receive that was taken.
void errand::end_receive(relay_shared &request, ibv_wc_status status)
{
    completion entry = request.receive;
    entry.wr_id      = m_receive.slot->wr_id;
    entry.slot       = m_receive.index;
    entry.bounce     = 0;
    entry.status     = static_cast<uint8_t>(status);
    if (status != IBV_WC_SUCCESS) {
        entry.byte_len = 0;
    }
    m_queue = nullptr;
    push_completion(*m_owner, m_owner->self(), target().recv_cq, entry);
}

// Ends it with an error, which takes the queue pair down with it.
void errand::fail_receive(relay_shared &request, ibv_wc_status responder,
                          ibv_wc_status requester)
{
    end_receive(request, responder);
    fail_queue_pair(*m_owner, m_owner->self(), target());
    answer(request, outcome::failed(requester));
}

} // namespace softrdma
