// SPDX-License-Identifier: BSD-3-Clause
//
// Operations that consume a receive of the target: SEND and RDMA WRITE with immediate data.
#include "operation.h"

#include "ah.h"
#include "cq.h"
#include "device.h"
#include "rq.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <endian.h>

namespace softrdma {
namespace {

rq_shared &queue_of(const operation &op)
{
    return (op.target.srq != 0) ? op.to.segment->srqs[op.target.srq] : op.target.rq;
}

void report_limit(const operation &op)
{
    op.to.ring_doorbell(op.me.reg.entry(op.to.slot).doorbell_fd);
}

bool claim(const operation &op, claimed_receive &receive)
{
    if (!claim_receive(op.me.token(), op.to.segment, queue_of(op), receive)) {
        op.remote_port.responder.out_of_buffer.add();
        return false;
    }
    if (receive.limit_reached) {
        report_limit(op);
    }
    return true;
}

// Of the receive in slot `index`. Written field by field where it has to go: a copy would have to wait for
// them.
void describe_receive(const operation &op, uint32_t index, completion_head &entry)
{
    bool shared     = op.target.srq != 0;
    entry           = {};
    entry.qp_num    = op.target_number();
    entry.src_qp    = op.qp.qp_base.qp_num;
    entry.opcode    = IBV_WC_RECV;
    entry.slid      = op.me.config.ethernet ? 0 :
                                              static_cast<uint8_t>(first_lid + op.qp.device);
    entry.kind      = shared ? queue_kind::shared_receive : queue_kind::receive;
    entry.queue     = static_cast<uint16_t>(shared ? op.target.srq : op.target_index);
    entry.slot      = index;
    entry.solicited = (op.wr.send_flags & IBV_SEND_SOLICITED) != 0;
    entry.byte_len  = static_cast<uint32_t>(op.local.length);
    if ((op.wr.opcode == IBV_WR_SEND_WITH_IMM) ||
        (op.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
        entry.wc_flags = IBV_WC_WITH_IMM;
        entry.imm_data = op.wr.imm_data;
    } else if (op.wr.opcode == IBV_WR_SEND_WITH_INV) {
        entry.wc_flags = IBV_WC_WITH_INV;
        entry.imm_data = op.wr.invalidate_rkey;
    }
}

// Ends a receive with an error, which takes the target queue pair down with it.
outcome receive_failed(const operation &op, completion &entry, ibv_wc_status responder,
                       ibv_wc_status requester)
{
    entry.status   = static_cast<uint8_t>(responder);
    entry.byte_len = 0;
    push_completion(op.me, op.to, op.target.recv_cq, entry);
    op.fail_target();
    return outcome::failed(requester);
}

outcome transfer_failed(const operation &op, completion &entry, int failure)
{
    if (failure == ESRCH) {
        return outcome::no_response(); // it died; nobody will look at its receive
    }
    return receive_failed(op, entry, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
}

// The 40 bytes in front of a datagram: a GRH, or for RoCE an IPv4 header in its second half. Undefined
// (here zero) when the sender's address has no GID.
void fill_grh(const operation &op, char *grh)
{
    memset(grh, 0, limits::grh_bytes);
    const ibv_ah_attr &address = address_handle::from(op.wr.wr.ud.ah)->attr;
    if (!address.is_global) {
        return;
    }
    ibv_gid source     = device_gid(op.me, op.qp.device, address.grh.sgid_index);
    const ibv_gid &gid = address.grh.dgid;
    if (op.me.config.ethernet && is_ipv4(gid)) {
        char *ip       = grh + 20;
        ip[0]          = 0x45;
        ip[1]          = static_cast<char>(address.grh.traffic_class);
        uint16_t total = htons(
                static_cast<uint16_t>(20 + 8 + 12 + 8 + op.local.length + 4));
        memcpy(ip + 2, &total, sizeof(total));
        ip[8] = static_cast<char>(address.grh.hop_limit);
        ip[9] = 17; // UDP
        memcpy(ip + 12, source.raw + 12, 4);
        memcpy(ip + 16, gid.raw + 12, 4);
        return;
    }
    ibv_grh header{};
    header.version_tclass_flow = htobe32((6u << 28) |
                                         (uint32_t(address.grh.traffic_class) << 20) |
                                         (address.grh.flow_label & 0xfffff));
    header.paylen              = htobe16(static_cast<uint16_t>(op.local.length + 24));
    header.next_hdr            = 0x1b;
    header.hop_limit           = address.grh.hop_limit;
    header.sgid                = source;
    header.dgid                = gid;
    memcpy(grh, &header, sizeof(header));
}

// What is delivered: for a datagram with the header, in `grh`, in front. `entry` describes it.
const memory_list &
message_of(const operation &op, char *grh, memory_list &with_grh, completion &entry)
{
    if (!op.datagram()) {
        return op.local;
    }
    fill_grh(op, grh);
    with_grh.add(reinterpret_cast<uint64_t>(grh), limits::grh_bytes);
    for (unsigned i = 0; i < op.local.count; ++i) {
        with_grh.add(reinterpret_cast<uint64_t>(op.local.piece[i].iov_base),
                     op.local.piece[i].iov_len);
    }
    entry.byte_len = static_cast<uint32_t>(with_grh.length);
    if (address_handle::from(op.wr.wr.ud.ah)->attr.is_global) {
        entry.wc_flags |= IBV_WC_GRH;
    }
    return with_grh;
}

// Puts the message where the receive says, or into a bounce buffer. 0 or an errno.
int place(const operation &op, const memory_list &message, const memory_list &receive,
          claimed_receive &claimed, completion &entry)
{
    rq_shared &queue = queue_of(op);
    if (!op.to.own && (message.length != 0) && (message.length <= op.me.config.eager)) {
        uint32_t bounce = take_bounce(op.to.segment, queue);
        if (bounce != 0) {
            claimed.slot->bounce = bounce;
            entry.bounce         = static_cast<uint16_t>(bounce);
            gather(message, bounce_data(op.to.segment, queue, bounce));
            return 0;
        }
    }
    return transfer(op.to, message, receive, message.length, direction::to_peer);
}

// Whether the receiver's memory is out of reach and there is no bounce buffer to put a message into.
bool is_out_of_reach(const operation &op, uint64_t length)
{
    if (!op.to.out_of_reach() || (length == 0)) {
        return false;
    }
    uint64_t free = queue_of(op).free_bounce.load(std::memory_order_relaxed);
    return (length > op.me.config.eager) || (static_cast<uint32_t>(free) == 0);
}

// The target's process delivers, and takes a receive itself.
outcome relay_message(const operation &op)
{
    char grh[limits::grh_bytes];
    memory_list with_grh;
    completion entry{};
    describe_receive(op, 0, entry);
    const memory_list &message = message_of(op, grh, with_grh, entry);
    return begin_relay(op, relay_kind::message, 0, message, &entry);
}

outcome relay_write(const operation &op)
{
    completion entry{};
    describe_receive(op, 0, entry);
    entry.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    return begin_relay(op, relay_kind::write_with_immediate, op.wr.wr.rdma.remote_addr,
                       op.local, &entry);
}

bool can_be_carried(const operation &op)
{
    return (op.local.length <= limits::carried_bytes) &&
           (op.local.length <= op.me.config.eager) && !op.datagram() &&
           (op.wr.opcode != IBV_WR_SEND_WITH_INV) &&
           (op.to.segment->cqs[op.target.recv_cq].timed == 0);
}

// Delivers a message in its completion. False when its receive has to be looked at.
bool carry(const operation &op, outcome &result)
{
    bool limit_reached;
    {
        carried_claim receive(op.me.token(), op.to.segment, queue_of(op),
                              op.local.length);
        if (receive.what() == carried_claim::result::look_closer) {
            return false;
        }
        if (receive.what() == carried_claim::result::empty) {
            op.remote_port.responder.out_of_buffer.add();
            result = outcome::no_receive(op.target.min_rnr_timer);
            return true;
        }
        limit_reached = receive.limit_reached();
        uint32_t cq   = op.target.recv_cq;
        if (!receive.hand_over(cq)) {
            lock_completions(op.me.token(), op.to.segment, op.to.segment->cqs[cq]);
        }
        completion_writer writer(op.me, op.to, cq, std::adopt_lock);
        if (cqe *place = writer.place()) {
            describe_receive(op, receive.index(), place->head);
            place->head.bounce = carried;
            gather(op.local, place->message);
        }
    }
    if (limit_reached) {
        report_limit(op);
    }
    result = outcome::done(op.local.length);
    return true;
}

} // namespace

outcome deliver_message(const operation &op)
{
    outcome result;
    if (can_be_carried(op) && carry(op, result)) {
        return result;
    }
    uint64_t length = op.local.length + (op.datagram() ? limits::grh_bytes : 0);
    if (is_out_of_reach(op, length)) [[unlikely]] {
        return relay_message(op);
    }
    claimed_receive receive;
    if (!claim(op, receive)) {
        return outcome::no_receive(op.target.min_rnr_timer);
    }

    completion entry{};
    describe_receive(op, receive.index, entry);
    entry.wr_id = receive.slot->wr_id;
    memory_list memory;
    if (length > receive.slot->total) {
        return receive_failed(op, entry, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
    }
    if (!receive_memory(op.to.segment, queue_of(op), *receive.slot, memory)) {
        return receive_failed(op, entry, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
    }

    char grh[limits::grh_bytes];
    memory_list with_grh;
    const memory_list &message = message_of(op, grh, with_grh, entry);
    int failure                = place(op, message, memory, receive, entry);
    if (failure == EPERM) {
        return_receive(op.me.token(), op.to.segment, queue_of(op), receive.index);
        return relay_message(op);
    }
    if (failure != 0) {
        return transfer_failed(op, entry, failure);
    }
    if ((op.wr.opcode == IBV_WR_SEND_WITH_INV) &&
        !invalidate_remote(op.to.segment, op.wr.invalidate_rkey, op.target.pd,
                           op.target_number())) {
        return receive_failed(op, entry, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
    }
    push_completion(op.me, op.to, op.target.recv_cq, entry);
    return outcome::done(op.local.length);
}

outcome write_with_immediate(const operation &op, const memory_list &remote)
{
    if (op.to.out_of_reach() && (remote.length != 0)) [[unlikely]] {
        return relay_write(op);
    }
    // Claimed before a byte is written: a writer that finds no receive must not have changed anything.
    claimed_receive receive;
    if (!claim(op, receive)) {
        return outcome::no_receive(op.target.min_rnr_timer);
    }
    completion entry{};
    describe_receive(op, receive.index, entry);
    entry.wr_id  = receive.slot->wr_id;
    entry.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    int failure  = transfer(op.to, op.local, remote, remote.length, direction::to_peer);
    if (failure == EPERM) {
        return_receive(op.me.token(), op.to.segment, queue_of(op), receive.index);
        return relay_write(op);
    }
    if (failure != 0) {
        return transfer_failed(op, entry, failure);
    }
    push_completion(op.me, op.to, op.target.recv_cq, entry);
    return outcome::done(op.local.length);
}

} // namespace softrdma
