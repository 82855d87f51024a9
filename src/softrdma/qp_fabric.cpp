// SPDX-License-Identifier: BSD-3-Clause
//
// The send queue when the fabric model is on for either port: a request is given to the model while it is
// posted, executed when the model says that all of it is there, and completed when the acknowledgement
// would be back. Requests are executed and completed in order; only datagrams may overtake each other.
#include "qp.h"

#include "clock.h"
#include "process.h"
#include "qp_request.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace softrdma {
namespace {

// The model had no room: looked again after this.
constexpr uint64_t crowded_period_ns = 50'000;

bool is_answered(ibv_wr_opcode opcode)
{
    return (opcode == IBV_WR_RDMA_READ) || (opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
           (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
}

uint64_t bytes_of(const ibv_send_wr &wr)
{
    uint64_t bytes = 0;
    for (int i = 0; i < wr.num_sge; ++i) {
        bytes += wr.sg_list[i].length;
    }
    return bytes;
}

} // namespace

bool queue_pair::is_modelled(const ibv_send_wr &wr) const
{
    if ((wr.opcode == IBV_WR_BIND_MW) || (wr.opcode == IBV_WR_LOCAL_INV)) {
        return false; // goes nowhere
    }
    target_place to = find_target(*this, wr);
    if (!to.exists) {
        return false;
    }
    uint32_t conditions = port->condition.load() |
                          owner.reg.port(to.slot, to.device).condition.load();
    return (conditions & port_modelled) != 0;
}

bool queue_pair::make_ring()
{
    void *ring = mmap(nullptr, m_init.cap.max_send_wr * sizeof(stored_request),
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
    m_ring     = (ring != MAP_FAILED) ? static_cast<std::byte *>(ring) : nullptr;
    return m_ring != nullptr;
}

std::byte *queue_pair::place_of(uint32_t sequence)
{
    return m_ring + sequence % m_init.cap.max_send_wr * sizeof(stored_request);
}

queue_pair::stored_request &queue_pair::stored(uint32_t sequence)
{
    return *std::launder(reinterpret_cast<stored_request *>(place_of(sequence)));
}

// Gives a request to the model. False when that has no room.
bool queue_pair::launch(stored_request &request)
{
    const ibv_send_wr &wr = request.wr;
    bool answered         = is_answered(wr.opcode);
    target_place to       = find_target(*this, wr);
    uint32_t here         = port_key(owner.reg.own_slot(), device);
    uint32_t there        = port_key(to.slot, to.device);
    uint32_t &flow        = answered ? m_answer_flow : m_flow;
    if (flow == 0) {
        flow = owner.net.open_flow(answered ? there : here);
    }
    if (flow == 0) {
        return false;
    }

    message_request message;
    message.flow       = flow;
    message.to         = answered ? here : there;
    message.bytes      = bytes_of(wr);
    message.mtu        = (attributes.path_mtu != 0) ? 128u << attributes.path_mtu : 4096u;
    message.priority   = attributes.ah_attr.sl;
    message.reliable   = qp_base.qp_type == IBV_QPT_RC;
    message.ordered    = qp_base.qp_type != IBV_QPT_UD;
    message.answer     = answered;
    message.lag_ns     = answered ? owner.net.return_ns(here, there) : 0;
    message.timeout_ns = ((attributes.timeout & 31) == 0) ?
                                 0 :
                                 uint64_t{4096} << (attributes.timeout & 31);
    message.retries    = attributes.retry_cnt;
    request.message    = owner.net.send(message);
    if (request.message == 0) {
        return false;
    }
    if (answered) {
        port->requester.xmit_packets.add();
        owner.reg.port(to.slot, to.device).responder.rcv_packets.add();
    }
    request.phase = stored_request::progress::travels;
    return true;
}

void queue_pair::launch_new()
{
    if (static_cast<int32_t>(m_launched - m_executed) < 0) {
        m_launched = m_executed;
    }
    while ((m_launched != m_posted) && (state() == IBV_QPS_RTS) &&
           is_modelled(stored(m_launched).wr) && launch(stored(m_launched))) {
        ++m_launched;
    }
}

// Executes a request that the model says is there. When it can be completed.
void queue_pair::land(stored_request &request, const message_fate &fate)
{
    owner.net.release(request.message);
    request.message     = 0;
    request.phase       = stored_request::progress::executed;
    request.complete_at = fate.when;
    switch (fate.state) {
    case message_state::lost:
        request.result = outcome::done(bytes_of(request.wr));
        break;
    case message_state::failed:
        port->requester.transport_retries_exceeded.add();
        request.result = outcome::failed(IBV_WC_RETRY_EXC_ERR);
        break;
    default:
        request.result = execute(*this, request.wr, true);
        if ((qp_base.qp_type == IBV_QPT_RC) && !is_answered(request.wr.opcode)) {
            target_place to = find_target(*this, request.wr);
            request.complete_at += owner.net.return_ns(port_key(owner.reg.own_slot(),
                                                                device),
                                                       port_key(to.slot, to.device));
        }
        break;
    }
}

// Executes what has arrived. When to look again.
uint64_t queue_pair::land_all(uint64_t now)
{
    using progress = stored_request::progress;
    bool in_order  = qp_base.qp_type != IBV_QPT_UD;
    uint64_t next  = UINT64_MAX;
    for (uint32_t i = m_executed; i != m_launched; ++i) {
        stored_request &request = stored(i);
        if (request.phase == progress::travels) {
            message_fate fate = owner.net.look(request.message);
            if ((fate.state == message_state::queued) || (fate.when > now)) {
                next = std::min(next, fate.when);
                if (in_order) {
                    break;
                }
                continue;
            }
            land(request, fate);
        }
        if (in_order && ((request.phase == progress::posted) ||
                         (request.result.what != outcome::kind::done))) {
            break;
        }
    }
    return next;
}

// True when the request at the head of the queue is over and the next may be looked at.
bool queue_pair::travel()
{
    launch_new();
    stored_request &head = stored(m_executed);
    if ((head.phase == stored_request::progress::posted) && (m_launched != m_executed)) {
        launch(head); // once more: those behind it are on their way already
    }
    uint64_t now  = now_ns();
    uint64_t next = land_all(now);
    if (head.phase == stored_request::progress::executed) {
        bool done = head.result.what == outcome::kind::done;
        if (!done || (head.complete_at <= now)) {
            head.phase = stored_request::progress::posted; // in case it is tried again
            return settle(head.wr, head.result);
        }
        next = std::min(next, head.complete_at);
    }
    wait_until((next == UINT64_MAX) ? now + crowded_period_ns : next);
    return false;
}

// A relayed request ends when its target has answered, but not before its acknowledgement would be back.
void queue_pair::keep_back(stored_request &request, outcome &result) const
{
    if ((request.complete_at != 0) && (result.what == outcome::kind::done) &&
        (request.complete_at > now_ns())) {
        request.result = result;
        request.phase  = stored_request::progress::executed;
        result         = outcome::travels();
    }
}

void queue_pair::forget_travellers()
{
    relayed.reset();
    for (uint32_t i = m_executed; i != m_posted; ++i) {
        stored_request &request = stored(i);
        if (request.phase == stored_request::progress::travels) {
            owner.net.release(request.message);
        }
        request.phase = stored_request::progress::posted;
    }
    m_launched = m_posted;
}

void queue_pair::close_flows()
{
    for (uint32_t *flow : {&m_flow, &m_answer_flow}) {
        if (*flow != 0) {
            owner.net.close_flow(*flow);
            *flow = 0;
        }
    }
}

} // namespace softrdma
