// SPDX-License-Identifier: BSD-3-Clause
#include "relay.h"

#include "guard.h"
#include "operation.h"
#include "packet_source.h"
#include "relay_window.h"

namespace softrdma {
namespace {

bool is_read(relay_kind kind)
{
    return (kind == relay_kind::read) || (kind == relay_kind::swap) ||
           (kind == relay_kind::add);
}

// Writes the request down. Not visible to the target before it is open.
void describe(const operation &op, relay_kind kind, uint64_t remote_addr, uint64_t length,
              const completion *receive, relay_shared &request)
{
    bool atomic        = (kind == relay_kind::swap) || (kind == relay_kind::add);
    request.generation = op.to.generation;
    request.slot       = op.to.slot;
    request.qp         = op.target_index;
    request.from       = source_of(op.qp, op.wr, op.target.device);
    request.kind       = kind;
    request.rkey       = atomic ? op.wr.wr.atomic.rkey : op.wr.wr.rdma.rkey;
    request.addr       = remote_addr;
    request.length     = length;
    request.operand    = op.wr.wr.atomic.compare_add;
    request.swap       = op.wr.wr.atomic.swap;
    request.receive    = (receive != nullptr) ? *receive : completion{};
    request.filled.store(0, std::memory_order_relaxed);
    request.drained.store(0, std::memory_order_relaxed);
}

} // namespace

relayed_request::relayed_request(process &owner, uint32_t index, uint64_t open) :
    m_owner(owner),
    m_index(index),
    m_shared(owner.relays.entry(index)),
    m_reads(is_read(m_shared.kind)),
    m_open(open)
{
}

relayed_request::~relayed_request()
{
    uint64_t state = m_open;
    bool given_up  = m_shared.state.compare_exchange_strong(
             state, m_open - relay_open + relay_abandoned, std::memory_order_acq_rel);
    if (given_up) {
        m_owner.relays.call(m_shared);
    }
    m_owner.relays.give_back(m_index, !given_up);
}

bool relayed_request::got_on() const
{
    const auto &progress = m_reads ? m_shared.filled : m_shared.drained;
    return (progress.load(std::memory_order_acquire) != m_seen) ||
           (m_shared.state.load(std::memory_order_acquire) != m_open);
}

bool relayed_request::may_answer() const
{
    execution_guard guard(m_owner.reg, m_shared.slot);
    const peer *to = m_owner.peers.find(m_shared.slot);
    return (to != nullptr) && (to->generation == m_shared.generation) &&
           (m_shared.state.load(std::memory_order_acquire) == m_open);
}

outcome relayed_request::advance(const memory_list &local)
{
    relay_window window{m_shared, m_owner.seg.fd()};
    memory_list data     = part_of(local, 0, m_shared.length);
    const auto &progress = m_reads ? m_shared.filled : m_shared.drained;
    uint64_t state       = m_shared.state.load(std::memory_order_acquire);
    uint64_t reached     = progress.load(std::memory_order_acquire);
    bool anything = false, moved = false;
    do {
        int failure = m_reads ? drain(window, data, moved) : fill(window, data, moved);
        if (failure != 0) {
            return outcome::failed(IBV_WC_LOC_PROT_ERR);
        }
        anything |= moved;
    } while (moved);
    if (state != m_open) {
        outcome result;
        result.what      = static_cast<outcome::kind>(m_shared.answer);
        result.status    = static_cast<ibv_wc_status>(m_shared.status);
        result.bytes     = static_cast<uint32_t>(m_shared.length);
        result.rnr_timer = m_shared.rnr_timer;
        return result;
    }
    if (anything) {
        m_owner.relays.call(m_shared);
    }
    bool news = anything || (reached != m_seen);
    m_seen    = reached;
    return news ? outcome::waits() : outcome::no_response();
}

outcome begin_relay(const operation &op, relay_kind kind, uint64_t remote_addr,
                    const memory_list &data, const completion *receive)
{
    relay_pool &pool = op.me.relays;
    bool datagram    = op.datagram();
    uint32_t index   = pool.take(datagram ? nullptr : op.qp.shared_from_this());
    if (index == relay_pool::none) {
        // Nobody misses a datagram; others are tried again.
        return datagram ? outcome::done(op.local.length) : outcome::waits();
    }

    relay_shared &request = pool.entry(index);
    describe(op, kind, remote_addr, data.length, receive, request);
    bool moved  = !is_read(kind);
    int failure = 0;
    while (moved && (failure == 0)) {
        failure = fill({request, op.me.seg.fd()}, data, moved);
    }
    if (failure != 0) {
        pool.give_back(index, true);
        return outcome::failed(IBV_WC_LOC_PROT_ERR);
    }
    uint64_t last = request.state.load(std::memory_order_relaxed) >> relay_phase_bits;
    uint64_t open = ((last + 1) << relay_phase_bits) | relay_open;
    request.state.store(open, std::memory_order_release);
    op.to.call(op.me.reg.entry(op.to.slot).doorbell_fd, op.me.reg.own_slot());
    if (datagram) {
        // All of it is in the window, and nobody waits for an answer.
        pool.give_back(index, false);
        return outcome::done(op.local.length);
    }
    op.qp.relayed.emplace(op.me, index, open);
    return outcome::waits();
}

outcome resume_relay(queue_pair &qp, const ibv_send_wr &wr)
{
    process &me         = qp.owner;
    target_place place  = find_target(qp, wr);
    port_shared &there  = me.reg.port(place.slot, place.device);
    uint32_t conditions = qp.port->condition.load(std::memory_order_relaxed) |
                          there.condition.load(std::memory_order_relaxed);
    if ((conditions & (port_link_down | port_removed)) != 0) {
        return outcome::no_response();
    }
    memory_list local;
    outcome result = local_memory(qp, wr, local) ? qp.relayed->advance(local) :
                                                   outcome::failed(IBV_WC_LOC_PROT_ERR);
    bool silent = (result.what == outcome::kind::no_response) && qp.relayed->may_answer();
    if ((result.what != outcome::kind::waits) && !silent) {
        qp.relayed.reset();
    }
    if ((result.what == outcome::kind::done) && ((conditions & port_modelled) == 0)) {
        count_moved(qp, wr, there, result.bytes);
    }
    return result;
}

} // namespace softrdma
