// SPDX-License-Identifier: BSD-3-Clause
#include "execute.h"

#include "ah.h"
#include "device.h"
#include "guard.h"
#include "keys.h"
#include "mr.h"
#include "operation.h"
#include "packet_source.h"

#include <cerrno>

namespace softrdma {
namespace {

bool writes_locally(ibv_wr_opcode opcode)
{
    return (opcode == IBV_WR_RDMA_READ) || (opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
           (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
}

bool takes_receive(ibv_wr_opcode opcode)
{
    return (opcode == IBV_WR_SEND) || (opcode == IBV_WR_SEND_WITH_IMM) ||
           (opcode == IBV_WR_SEND_WITH_INV) || (opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

} // namespace

bool local_memory(const queue_pair &qp, const ibv_send_wr &wr, memory_list &result)
{
    uint32_t rights = writes_locally(wr.opcode) ? IBV_ACCESS_LOCAL_WRITE : 0;
    for (int i = 0; i < wr.num_sge; ++i) {
        const ibv_sge &sge = wr.sg_list[i];
        if (sge.length == 0) {
            continue;
        }
        uint64_t addr = sge.addr;
        if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
            addr = find_local_memory(qp.owner.seg.base(), sge.lkey, qp.pd_index, rights,
                                     sge.addr, sge.length);
            if (addr == 0) {
                return false;
            }
        }
        result.add(addr, sge.length);
    }
    return true;
}

namespace {

uint32_t needed_access(ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_READ:
        return IBV_ACCESS_REMOTE_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_ACCESS_REMOTE_ATOMIC;
    default:
        return IBV_ACCESS_REMOTE_WRITE;
    }
}

// A failed transfer as the requester sees it.
outcome transfer_failed(const operation &op, int failure)
{
    if (failure == ESRCH) {
        return outcome::no_response();
    }
    op.fail_target(IBV_EVENT_QP_FATAL);
    return outcome::failed(IBV_WC_REM_OP_ERR);
}

outcome remote_access(const operation &op)
{
    const ibv_send_wr &wr = op.wr;
    bool atomic           = (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
                  (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
    uint64_t remote_addr = atomic ? wr.wr.atomic.remote_addr : wr.wr.rdma.remote_addr;
    uint32_t rkey        = atomic ? wr.wr.atomic.rkey : wr.wr.rdma.rkey;
    uint64_t length      = atomic ? sizeof(uint64_t) : op.local.length;
    uint32_t access      = needed_access(wr.opcode);

    // What the queue pair does not allow at all is an invalid request; what the key does not, an
    // access error.
    bool answered = atomic || (wr.opcode == IBV_WR_RDMA_READ);
    if (((op.target.access & access) == 0) || (answered && (op.target.rd_atomic == 0)) ||
        (atomic && (remote_addr % sizeof(uint64_t) != 0)) ||
        (atomic && (op.local.length < sizeof(uint64_t)))) {
        op.fail_target(IBV_EVENT_QP_REQ_ERR);
        return outcome::failed(IBV_WC_REM_INV_REQ_ERR);
    }
    uint64_t addr = 0;
    if (length != 0) {
        addr = find_remote_memory(op.to.segment, rkey, op.target.pd, op.target_number(),
                                  access, remote_addr, length);
        if (addr == 0) {
            op.fail_target(IBV_EVENT_QP_ACCESS_ERR);
            return outcome::failed(IBV_WC_REM_ACCESS_ERR);
        }
    }
    if (atomic) {
        return compare_or_add(op, addr);
    }

    memory_list remote;
    remote.add(addr, length);
    if (wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        return write_with_immediate(op, remote);
    }
    direction way = (wr.opcode == IBV_WR_RDMA_READ) ? direction::from_peer :
                                                      direction::to_peer;
    int failure   = transfer(op.to, op.local, remote, length, way);
    if (failure == EPERM) {
        relay_kind kind = (way == direction::to_peer) ? relay_kind::write :
                                                        relay_kind::read;
        return begin_relay(op, kind, remote_addr, op.local);
    }
    return (failure == 0) ? outcome::done(length) : transfer_failed(op, failure);
}

// One message less meets the condition. False when none is left to.
bool take_one(std::atomic<int64_t> &left)
{
    int64_t value = left.load(std::memory_order_relaxed);
    while (value > 0) {
        if (left.compare_exchange_weak(value, value - 1, std::memory_order_relaxed)) {
            return true;
        }
    }
    return value < 0;
}

// Whether a fault meets the operation, and what comes of it.
bool impeded(const operation &op, uint32_t conditions, outcome &result)
{
    if ((conditions & (port_link_down | port_removed)) != 0) {
        result = outcome::no_response();
        return true;
    }
    // A packet that fails its check sum is discarded as if it had never come: the requester's timer
    // notices, and the whole request is sent again.
    port_shared &arrival = writes_locally(op.wr.opcode) ? *op.qp.port : op.remote_port;
    if (((arrival.condition.load() & port_corrupting) != 0) &&
        take_one(arrival.arrivals_corrupted)) {
        arrival.responder.rcv_errors.add();
        result = outcome::no_response();
        return true;
    }
    if (((op.remote_port.condition.load() & port_no_receives) != 0) &&
        takes_receive(op.wr.opcode) && take_one(op.remote_port.receives_refused)) {
        op.remote_port.responder.out_of_buffer.add();
        result = outcome::no_receive(op.target.min_rnr_timer);
        return true;
    }
    return false;
}

} // namespace

void count_moved(const queue_pair &qp, const ibv_send_wr &wr, port_shared &there,
                 uint64_t bytes)
{
    port_shared &here = *qp.port;
    uint64_t packets  = packets_of(bytes, qp.attributes.path_mtu);
    if (!writes_locally(wr.opcode)) {
        here.requester.xmit_bytes.add(bytes);
        here.requester.xmit_packets.add(packets);
        there.responder.rcv_bytes.add(bytes);
        there.responder.rcv_packets.add(packets);
        return;
    }
    here.requester.xmit_packets.add();
    there.responder.rcv_packets.add();
    there.requester.xmit_bytes.add(bytes);
    there.requester.xmit_packets.add(packets);
    here.responder.rcv_bytes.add(bytes);
    here.responder.rcv_packets.add(packets);
}

void fail_queue_pair(process &me, peer &to, qp_shared &target, ibv_event_type event)
{
    if (target.type != IBV_QPT_RC) {
        return; // unreliable services drop what they do not like
    }
    target.cause.store(static_cast<uint32_t>(event) + 1, std::memory_order_release);
    fail_queue_pair(me, to, target);
}

void operation::fail_target(ibv_event_type event) const
{
    fail_queue_pair(me, to, target, event);
}

void operation::report_contact() const
{
    uint32_t none = contact_none;
    if (!datagram() && target.contact.compare_exchange_strong(none, contact_made)) {
        to.ring_doorbell(me.reg.entry(to.slot).doorbell_fd);
    }
}

void operation::fail_target() const
{
    fail_queue_pair(me, to, target);
}

void fail_queue_pair(process &me, peer &to, qp_shared &target)
{
    uint32_t state = target.state.load(std::memory_order_acquire);
    while ((state != IBV_QPS_ERR) && (state != IBV_QPS_RESET)) {
        if (target.state.compare_exchange_weak(state, IBV_QPS_ERR,
                                               std::memory_order_acq_rel)) {
            break;
        }
    }
    to.ring_doorbell(me.reg.entry(to.slot).doorbell_fd);
}

target_place find_target(const queue_pair &qp, const ibv_send_wr &wr)
{
    bool datagram   = qp.qp_base.qp_type == IBV_QPT_UD;
    uint32_t device = datagram ? address_handle::from(wr.wr.ud.ah)->device :
                                 qp.shared.dest_device;
    uint32_t number = datagram ? wr.wr.ud.remote_qpn : qp.shared.dest_qpn;
    uint32_t slot   = number >> limits::qp_bits;
    bool exists     = (device < limits::devices) && (slot < limits::processes);
    return {exists, slot, device, number % limits::qps};
}

outcome execute(queue_pair &qp, const ibv_send_wr &wr, bool counted)
{
    bool datagram = qp.qp_base.qp_type == IBV_QPT_UD;
    process &me   = qp.owner;
    if ((wr.opcode == IBV_WR_BIND_MW) || (wr.opcode == IBV_WR_LOCAL_INV)) {
        bool worked = (wr.opcode == IBV_WR_BIND_MW) ?
                              me.windows.bind(qp, wr) :
                              me.windows.invalidate(qp, wr.invalidate_rkey);
        return worked ? outcome::done(0) : outcome::failed(IBV_WC_MW_BIND_ERR);
    }
    if (writes_locally(wr.opcode) && (qp.attributes.max_rd_atomic == 0)) {
        return outcome::failed(IBV_WC_LOC_QP_OP_ERR);
    }
    memory_list local;
    if (!local_memory(qp, wr, local)) {
        return outcome::failed(IBV_WC_LOC_PROT_ERR);
    }
    if (local.length > (datagram ? limits::ud_bytes : limits::message_bytes)) {
        return outcome::failed(IBV_WC_LOC_LEN_ERR);
    }

    target_place place = find_target(qp, wr);
    if (!place.exists) {
        return outcome::no_response();
    }

    execution_guard guard(me.reg, place.slot);
    peer *to = me.peers.find(place.slot);
    if (to == nullptr) {
        return outcome::no_response();
    }
    qp_shared &target = to->segment->qps[place.index];
    if (!accepts(target, source_of(qp, wr, place.device))) {
        return outcome::no_response();
    }

    operation op{me,  qp,          wr,     local,
                 *to, place.index, target, me.reg.port(place.slot, place.device)};
    // Sequentially consistent, see guard.h: a device that is being removed closes.
    uint32_t conditions = qp.port->condition.load(std::memory_order_relaxed) |
                          op.remote_port.condition.load(std::memory_order_seq_cst);
    outcome hindered;
    if (((conditions & port_modelled) != 0) && !counted) [[unlikely]] {
        return outcome::travels();
    }
    if ((conditions != 0) && impeded(op, conditions, hindered)) [[unlikely]] {
        return hindered;
    }
    op.make_contact();
    bool message = (wr.opcode == IBV_WR_SEND) || (wr.opcode == IBV_WR_SEND_WITH_IMM) ||
                   (wr.opcode == IBV_WR_SEND_WITH_INV);
    outcome result = message ? deliver_message(op) : remote_access(op);
    if ((result.what == outcome::kind::done) && !counted) {
        count_moved(qp, wr, op.remote_port, result.bytes);
    }
    return result;
}

} // namespace softrdma
