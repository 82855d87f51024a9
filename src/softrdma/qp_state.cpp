// SPDX-License-Identifier: BSD-3-Clause
//
// The queue pair's state machine.
#include "qp.h"

#include "context.h"
#include "cq.h"
#include "device.h"
#include "guard.h"
#include "qp_masks.h"

#include <cerrno>

namespace softrdma {
namespace {

bool values_valid(const process &owner, const ibv_qp_attr &attr, int mask)
{
    if ((mask & IBV_QP_PORT) && (attr.port_num != port_number)) {
        return false;
    }
    if ((mask & IBV_QP_PKEY_INDEX) && (attr.pkey_index != 0)) {
        return false;
    }
    if ((mask & IBV_QP_AV) && !address_valid(owner, attr.ah_attr)) {
        return false;
    }
    if ((mask & IBV_QP_PATH_MTU) &&
        ((attr.path_mtu < IBV_MTU_256) || (attr.path_mtu > IBV_MTU_4096))) {
        return false;
    }
    if ((mask & IBV_QP_DEST_QPN) && (attr.dest_qp_num > 0xffffff)) {
        return false;
    }
    if (((mask & IBV_QP_RETRY_CNT) && (attr.retry_cnt > 7)) ||
        ((mask & IBV_QP_RNR_RETRY) && (attr.rnr_retry > 7)) ||
        ((mask & IBV_QP_TIMEOUT) && (attr.timeout > 31)) ||
        ((mask & IBV_QP_MIN_RNR_TIMER) && (attr.min_rnr_timer > 31))) {
        return false;
    }
    if (((mask & IBV_QP_MAX_QP_RD_ATOMIC) && (attr.max_rd_atomic > limits::rd_atomic)) ||
        ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) &&
         (attr.max_dest_rd_atomic > limits::rd_atomic))) {
        return false;
    }
    // There is no second path to migrate to.
    return (mask & (IBV_QP_ALT_PATH | IBV_QP_CAP | IBV_QP_RATE_LIMIT)) == 0;
}

} // namespace

int queue_pair::modify(const ibv_qp_attr &attr, int mask)
{
    std::lock_guard lock(m_mutex);
    follow_remote_error();
    ibv_qp_state from = state();
    ibv_qp_state to   = ((mask & IBV_QP_STATE) != 0) ? attr.qp_state : from;
    if (((mask & IBV_QP_CUR_STATE) && (attr.cur_qp_state != from)) ||
        !modify_allowed(qp_base.qp_type, from, to, mask) ||
        !values_valid(owner, attr, mask)) {
        return EINVAL;
    }

    if (to == IBV_QPS_RESET) {
        reset();
        return 0;
    }
    if (to == IBV_QPS_ERR) {
        set_state(IBV_QPS_ERR);
        // Whoever asked may rely on it that nothing more arrives; what is arriving has until the end of this call.
        quiesce(owner.reg, owner.reg.own_slot());
        completion_queue::from(qp_base.send_cq)->release_withheld();
        completion_queue::from(qp_base.recv_cq)->release_withheld();
        enter_error();
        return 0;
    }
    apply(attr, mask);
    set_state(to);
    if ((from == IBV_QPS_RTS) && (to == IBV_QPS_SQD)) {
        m_notify_drained = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) &&
                           (attr.en_sqd_async_notify != 0);
        // A request whose execution has begun is carried to its end, those behind it wait.
        m_draining = m_posted != m_executed;
        if (!m_draining) {
            drained();
        }
    }
    if (to == IBV_QPS_RTR) {
        owner.background.start(); // from here on a peer can put it into the error state
    }
    if (to == IBV_QPS_RTS) {
        m_draining = false;
        run();
    }
    return 0;
}

void queue_pair::apply(const ibv_qp_attr &attr, int mask)
{
    ibv_qp_attr &own = attributes;
    auto take        = [&](int bit, auto member) {
        if ((mask & bit) != 0) {
            own.*member = attr.*member;
        }
    };
    take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
    take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
    take(IBV_QP_PORT, &ibv_qp_attr::port_num);
    take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
    take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
    take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
    take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
    take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
    take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
    take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
    take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
    take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
    take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
    take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
    take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
    own.rq_psn &= 0xffffff;
    own.sq_psn &= 0xffffff;

    shared.access        = own.qp_access_flags;
    shared.qkey          = own.qkey;
    shared.dest_qpn      = own.dest_qp_num;
    shared.min_rnr_timer = own.min_rnr_timer;
    shared.rq_psn        = own.rq_psn;
    shared.rd_atomic     = own.max_dest_rd_atomic;
    if ((mask & IBV_QP_AV) != 0) {
        shared.dest_device = resolve_address(owner, own.ah_attr);
    }
}

void queue_pair::drained()
{
    m_draining = false;
    if (m_notify_drained) {
        m_notify_drained = false;
        device_context::from(qp_base.context)->raise(IBV_EVENT_SQ_DRAINED, &m_events);
    }
}

void queue_pair::set_state(ibv_qp_state to)
{
    // A peer may be moving it to the error state at this moment; that must not be undone.
    uint32_t from = shared.state.load(std::memory_order_relaxed);
    while ((from != IBV_QPS_ERR) || (to == IBV_QPS_RESET) || (to == IBV_QPS_ERR)) {
        if (shared.state.compare_exchange_weak(from, to, std::memory_order_seq_cst)) {
            break;
        }
    }
    qp_base.state = state();
}

void queue_pair::enter_error()
{
    bool first      = !m_error_handled;
    m_draining      = false;
    m_error_handled = true;
    set_state(IBV_QPS_ERR);
    owner.served.abandon(index);
    flush_sends();
    if (qp_base.srq == nullptr) {
        flush_receives();
    } else if (first) {
        device_context::from(qp_base.context)
                ->raise(IBV_EVENT_QP_LAST_WQE_REACHED, &m_events);
    }
}

void queue_pair::flush_receives()
{
    if (qp_base.srq != nullptr) {
        return;
    }
    completion entry{};
    while (m_receives.take(entry)) {
        entry.qp_num = qp_base.qp_num;
        entry.status = IBV_WC_WR_FLUSH_ERR;
        entry.opcode = IBV_WC_RECV;
        entry.kind   = queue_kind::receive;
        entry.queue  = static_cast<uint16_t>(index);
        push_completion(owner, owner.self(), shared.recv_cq, entry);
    }
}

void queue_pair::flush_late_receives()
{
    std::lock_guard lock(m_mutex);
    if (m_open && m_error_handled) {
        flush_receives();
    }
}

void queue_pair::follow_remote_error()
{
    if ((state() != IBV_QPS_ERR) || m_error_handled || !m_open) {
        return;
    }
    uint32_t cause = shared.cause.exchange(0, std::memory_order_acquire);
    if (cause != 0) {
        device_context::from(qp_base.context)
                ->raise(static_cast<ibv_event_type>(cause - 1), &m_events);
    }
    enter_error();
}

bool queue_pair::fail_connected(bool raise_event)
{
    std::lock_guard lock(m_mutex);
    ibv_qp_state now = state();
    if (!m_open || (now == IBV_QPS_RESET) || (now == IBV_QPS_INIT) ||
        (now == IBV_QPS_ERR)) {
        return false;
    }
    if (raise_event) {
        device_context::from(qp_base.context)->raise(IBV_EVENT_QP_FATAL, &m_events);
    }
    enter_error();
    return true;
}

void queue_pair::check_reports()
{
    std::lock_guard lock(m_mutex);
    uint32_t made = contact_made;
    if (m_open && shared.contact.compare_exchange_strong(made, contact_reported)) {
        device_context::from(qp_base.context)->raise(IBV_EVENT_COMM_EST, &m_events);
    }
    follow_remote_error();
}

void queue_pair::fail()
{
    std::lock_guard lock(m_mutex);
    if (!m_open || (state() == IBV_QPS_RESET) || m_error_handled) {
        return;
    }
    device_context::from(qp_base.context)->raise(IBV_EVENT_QP_FATAL, &m_events);
    enter_error();
}

void queue_pair::reset()
{
    set_state(IBV_QPS_RESET);
    quiesce(owner.reg, owner.reg.own_slot());
    owner.served.abandon(index);
    auto *send_cq = completion_queue::from(qp_base.send_cq);
    auto *recv_cq = completion_queue::from(qp_base.recv_cq);
    send_cq->purge(*this);
    if (recv_cq != send_cq) {
        recv_cq->purge(*this);
    }
    m_receives.reset();
    forget_travellers();
    close_flows();
    m_posted = m_executed = m_launched = 0;
    m_retired.store(0, std::memory_order_release);
    m_error_handled = false;
    stop_waiting();
    shared.cause.store(0);
    shared.contact.store(contact_none);
    m_draining         = false;
    shared.dest_device = no_device;
    attributes         = {};
}

} // namespace softrdma
