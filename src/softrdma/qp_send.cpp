// SPDX-License-Identifier: BSD-3-Clause
//
// The send queue: posting, waiting, retrying, completing.
#include "qp.h"

#include "clock.h"
#include "cq.h"
#include "process.h"
#include "qp_request.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace softrdma {
namespace {

constexpr uint32_t retry_for_ever = 7; // rnr_retry
// A peer that is silent is looked for again this often when the timeout is "never".
constexpr uint64_t patient_period_ns = 10'000'000;

// A request that the target's process carries out: the least and, for services without a timeout, the only time
// it may take to get on.
constexpr uint64_t relay_patience_ns = 100'000'000;
constexpr uint64_t relay_lost_ns     = 500'000'000;
// All entries for such requests are in use: looked again after this.
constexpr uint64_t crowded_period_ns = 1'000'000;

// The RNR NAK timer field, in microseconds.
constexpr uint32_t rnr_timer_us[32] = {655360, 10,    20,    30,     40,     60,
                                       80,     120,   160,   240,    320,    480,
                                       640,    960,   1280,  1920,   2560,   3840,
                                       5120,   7680,  10240, 15360,  20480,  30720,
                                       40960,  61440, 81920, 122880, 163840, 245760,
                                       327680, 491520};

uint64_t ack_timeout_ns(uint8_t timeout)
{
    return uint64_t{4096} << (timeout & 31);
}

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    case IBV_WR_BIND_MW:
        return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
        return IBV_WC_LOCAL_INV;
    default:
        return IBV_WC_SEND;
    }
}

bool remote_status(ibv_wc_status status)
{
    return (status == IBV_WC_REM_INV_REQ_ERR) || (status == IBV_WC_REM_ACCESS_ERR) ||
           (status == IBV_WC_REM_OP_ERR);
}

bool opcode_supported(ibv_qp_type type, ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_BIND_MW:
    case IBV_WR_LOCAL_INV:
        return type != IBV_QPT_UD;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return type == IBV_QPT_RC;
    default:
        return false;
    }
}

} // namespace

int queue_pair::check_request(const ibv_send_wr &wr) const
{
    const ibv_qp_cap &cap = m_init.cap;
    if (!opcode_supported(qp_base.qp_type, wr.opcode) || (wr.num_sge < 0) ||
        (static_cast<uint32_t>(wr.num_sge) > cap.max_send_sge) ||
        ((qp_base.qp_type == IBV_QPT_UD) && (wr.wr.ud.ah == nullptr))) {
        return EINVAL;
    }
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
        uint64_t bytes = 0;
        for (int i = 0; i < wr.num_sge; ++i) {
            bytes += wr.sg_list[i].length;
        }
        bool carries_data = completion_opcode(wr.opcode) <= IBV_WC_RDMA_WRITE;
        if (!carries_data || (bytes > cap.max_inline_data)) {
            return EINVAL;
        }
    }
    if (wr.opcode == IBV_WR_BIND_MW) {
        const ibv_mw *mw             = wr.bind_mw.mw;
        const ibv_mw_bind_info &info = wr.bind_mw.bind_info;
        bool valid = (mw != nullptr) && (wr.bind_mw.rkey >> 8 == mw->handle) &&
                     ((info.mr != nullptr) || (info.length == 0));
        return valid ? 0 : EINVAL;
    }
    return 0;
}

int queue_pair::check_post(const ibv_send_wr &wr, uint32_t ahead)
{
    follow_remote_error();
    ibv_qp_state now = state();
    if ((now == IBV_QPS_RESET) || (now == IBV_QPS_INIT) || (now == IBV_QPS_RTR)) {
        return EINVAL;
    }
    int failure = check_request(wr);
    if (failure != 0) {
        return failure;
    }
    uint32_t used = m_posted - m_retired.load(std::memory_order_acquire);
    if ((used + ahead >= m_init.cap.max_send_wr) ||
        ((m_ring == nullptr) && !make_ring())) {
        return ENOMEM;
    }
    return 0;
}

void queue_pair::accept(const ibv_send_wr &wr)
{
    if (wr.opcode != IBV_WR_BIND_MW) {
        run_or_store(wr);
        return;
    }
    // From here on by keys: the objects may be gone when it is executed (see mw.h).
    ibv_send_wr by_key     = wr;
    const ibv_mr *mr       = wr.bind_mw.bind_info.mr;
    by_key.invalidate_rkey = (mr != nullptr) ? mr->lkey : 0;
    run_or_store(by_key);
}

void queue_pair::run_or_store(const ibv_send_wr &wr)
{
    ibv_qp_state now = state();
    if ((now == IBV_QPS_ERR) || (now == IBV_QPS_SQE)) {
        ++m_posted;
        complete(wr, IBV_WC_WR_FLUSH_ERR, 0);
        return;
    }
    if ((now == IBV_QPS_SQD) || (m_posted != m_executed)) {
        store(wr);
        if ((m_flow | m_answer_flow) != 0) {
            launch_new();
        }
        return;
    }
    outcome result = execute(*this, wr);
    if (result.what == outcome::kind::done) {
        ++m_posted;
        complete(wr, IBV_WC_SUCCESS, result.bytes);
        return;
    }
    store(wr);
    bool over = (result.what == outcome::kind::travels) ?
                        travel() :
                        settle(stored(m_executed).wr, result);
    if (over) {
        run();
    }
}

int queue_pair::post_send(ibv_send_wr *wr, ibv_send_wr **bad)
{
    if (owner.faults.disturbs()) [[unlikely]] {
        owner.faults.wait_out_stall();
    }
    std::lock_guard lock(m_mutex);
    for (; wr != nullptr; wr = wr->next) {
        int failure = check_post(*wr, 0);
        if (failure != 0) {
            *bad = wr;
            return failure;
        }
        accept(*wr);
    }
    return 0;
}

int queue_pair::post_recv(ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    if ((qp_base.srq != nullptr) || (state() == IBV_QPS_RESET)) {
        *bad = wr;
        return EINVAL;
    }
    int failure = m_receives.post(wr, bad);
    if (state() == IBV_QPS_ERR) {
        std::lock_guard lock(m_mutex);
        follow_remote_error();
        flush_receives();
    }
    return failure;
}

void queue_pair::store(const ibv_send_wr &wr)
{
    stored_request &kept = *new (place_of(m_posted++)) stored_request;
    kept.wr              = wr;
    kept.wr.next         = nullptr;
    kept.wr.sg_list      = kept.sges;
    kept.phase           = stored_request::progress::posted;
    kept.complete_at     = 0;
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
        uint32_t used = 0;
        for (int i = 0; i < wr.num_sge; ++i) {
            memcpy(kept.inline_data + used,
                   reinterpret_cast<const void *>(wr.sg_list[i].addr),
                   wr.sg_list[i].length);
            used += wr.sg_list[i].length;
        }
        kept.sges[0]    = {reinterpret_cast<uint64_t>(kept.inline_data), used, 0};
        kept.wr.num_sge = 1;
    } else {
        std::copy(wr.sg_list, wr.sg_list + wr.num_sge, kept.sges);
    }
    if (qp_base.qp_type == IBV_QPT_UD) {
        kept.wr.wr.ud.ah = new (kept.address)
                address_handle(*address_handle::from(wr.wr.ud.ah));
    }
}

void queue_pair::run()
{
    while ((m_posted != m_executed) && ((state() == IBV_QPS_RTS) || m_draining)) {
        stored_request &head = stored(m_executed);
        outcome result       = outcome::travels();
        if (head.phase == stored_request::progress::posted) {
            result = relayed.has_value() ? resume_relay(*this, head.wr) :
                                           execute(*this, head.wr);
            keep_back(head, result);
        }
        bool over = (result.what == outcome::kind::travels) ? travel() :
                                                              settle(head.wr, result);
        if (!over) {
            return;
        }
        if (m_draining) {
            drained();
            return;
        }
    }
}

// How long the peer is given to answer an attempt.
uint64_t queue_pair::patience_ns() const
{
    bool ever      = (attributes.timeout & 31) == 0;
    uint64_t given = ever ? patient_period_ns : ack_timeout_ns(attributes.timeout);
    if (!relayed.has_value()) {
        return given;
    }
    // A thread of its own has to get a processor first; and unreliable services have no timeout.
    return (qp_base.qp_type == IBV_QPT_RC) ? std::max(given, relay_patience_ns) :
                                             relay_lost_ns;
}

// Acts on an attempt at the head of the queue. True when the next request may be tried.
bool queue_pair::settle(const ibv_send_wr &wr, const outcome &result)
{
    bool silent = result.what == outcome::kind::no_response;
    if ((m_timeout_count != 0) &&
        (!silent || (m_timeout_count <= attributes.retry_cnt))) {
        port->requester.local_ack_timeout_err.add(); // this was a retry
    }
    if (result.what == outcome::kind::waits) {
        m_timeout_count = 0;
        wait_until(now_ns() + (relayed.has_value() ? patience_ns() : crowded_period_ns));
        return false;
    }
    ibv_wc_status status = result.status;
    bool reliable        = qp_base.qp_type == IBV_QPT_RC;
    if (!reliable &&
        ((result.what == outcome::kind::no_receive) ||
         (result.what == outcome::kind::no_response) || remote_status(status))) {
        status = IBV_WC_SUCCESS; // lost, and nobody says so
    } else if (result.what == outcome::kind::no_receive) {
        if ((attributes.rnr_retry == retry_for_ever) ||
            (m_rnr_count < attributes.rnr_retry)) {
            ++m_rnr_count;
            port->requester.rnr_nak_retry_err.add();
            wait_until(now_ns() + uint64_t{rnr_timer_us[result.rnr_timer & 31]} * 1000);
            return false;
        }
        port->requester.rnr_retries_exceeded.add();
        status = IBV_WC_RNR_RETRY_EXC_ERR;
    } else if (result.what == outcome::kind::no_response) {
        if ((attributes.timeout & 31) == 0) {
            wait_until(now_ns() + patience_ns());
            return false;
        }
        // Each attempt waits for its acknowledgement, the last one too. One that is relayed has waited.
        uint32_t attempts = m_timeout_count + (relayed.has_value() ? 1 : 0);
        if (attempts <= attributes.retry_cnt) {
            ++m_timeout_count;
            wait_until(now_ns() + patience_ns());
            return false;
        }
        port->requester.transport_retries_exceeded.add();
        status = IBV_WC_RETRY_EXC_ERR;
    }

    m_rnr_count     = 0;
    m_timeout_count = 0;
    if (silent) {
        relayed.reset();
    }
    complete(wr, status, result.bytes);
    if (status == IBV_WC_SUCCESS) {
        return true;
    }
    send_failed();
    return false;
}

void queue_pair::send_failed()
{
    if (qp_base.qp_type == IBV_QPT_RC) {
        enter_error();
        return;
    }
    // An unreliable queue pair goes on receiving.
    set_state(IBV_QPS_SQE);
    flush_sends();
}

// The request at the head is over. Successful ones are told when that was asked for.
void queue_pair::complete(const ibv_send_wr &wr, ibv_wc_status status, uint32_t bytes)
{
    ++m_executed;
    if ((status == IBV_WC_SUCCESS) && (m_init.sq_sig_all == 0) &&
        ((wr.send_flags & IBV_SEND_SIGNALED) == 0)) {
        return;
    }
    completion entry{};
    entry.wr_id    = wr.wr_id;
    entry.qp_num   = qp_base.qp_num;
    entry.status   = static_cast<uint8_t>(status);
    entry.opcode   = static_cast<uint8_t>(completion_opcode(wr.opcode));
    entry.byte_len = bytes;
    entry.kind     = queue_kind::send;
    entry.queue    = static_cast<uint16_t>(index);
    entry.slot     = m_executed;
    push_completion(owner, owner.self(), completion_queue::from(qp_base.send_cq)->index(),
                    entry);
}

void queue_pair::flush_sends()
{
    forget_travellers();
    while (m_posted != m_executed) {
        complete(stored(m_executed).wr, IBV_WC_WR_FLUSH_ERR, 0);
    }
    stop_waiting();
}

void queue_pair::stop_waiting()
{
    m_rnr_count     = 0;
    m_timeout_count = 0;
    m_deadline.store(UINT64_MAX, std::memory_order_relaxed);
    if (m_waiting) {
        m_waiting = false;
        owner.background.remove_waiting(this);
    }
}

void queue_pair::wait_until(uint64_t when)
{
    m_deadline.store(when, std::memory_order_relaxed);
    if (!m_waiting) {
        m_waiting = true;
        owner.background.add_waiting(shared_from_this());
    }
    owner.background.retry_at(when);
}

void queue_pair::retry()
{
    std::unique_lock lock(m_mutex, std::try_to_lock);
    if (!lock.owns_lock() || !m_open || (deadline() > now_ns())) {
        return;
    }
    m_deadline.store(UINT64_MAX, std::memory_order_relaxed);
    run();
    if (deadline() == UINT64_MAX) {
        stop_waiting();
    }
}

void queue_pair::resume()
{
    std::lock_guard lock(m_mutex);
    if (!m_open || !relayed.has_value() || !relayed->got_on()) {
        return;
    }
    m_deadline.store(UINT64_MAX, std::memory_order_relaxed);
    run();
    if (deadline() == UINT64_MAX) {
        stop_waiting();
    }
}

int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad)
{
    return queue_pair::from(qp)->post_send(wr, bad);
}

int post_recv(ibv_qp *qp, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    return queue_pair::from(qp)->post_recv(wr, bad);
}

} // namespace softrdma
