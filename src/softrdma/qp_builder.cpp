// SPDX-License-Identifier: BSD-3-Clause
#include "qp_builder.h"

#include "process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softrdma {

request_builder::request_builder(queue_pair &qp)
{
    qp.wr_start    = start;
    qp.wr_complete = complete;
    qp.wr_abort    = abort;
    qp.wr_send     = [](ibv_qp_ex *which) { begin(which, IBV_WR_SEND); };
    qp.wr_send_imm = [](ibv_qp_ex *which, __be32 imm) {
        begin(which, IBV_WR_SEND_WITH_IMM).imm_data = imm;
    };
    qp.wr_rdma_write = [](ibv_qp_ex *which, uint32_t rkey, uint64_t addr) {
        rdma(which, IBV_WR_RDMA_WRITE, rkey, addr);
    };
    qp.wr_rdma_write_imm = [](ibv_qp_ex *which, uint32_t rkey, uint64_t addr,
                              __be32 imm) {
        rdma(which, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
        of(which).last()->wr.imm_data = imm;
    };
    qp.wr_rdma_read = [](ibv_qp_ex *which, uint32_t rkey, uint64_t addr) {
        rdma(which, IBV_WR_RDMA_READ, rkey, addr);
    };
    qp.wr_atomic_cmp_swp = [](ibv_qp_ex *which, uint32_t rkey, uint64_t addr,
                              uint64_t compare, uint64_t swap) {
        begin(which, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {addr, compare, swap, rkey};
    };
    qp.wr_atomic_fetch_add = [](ibv_qp_ex *which, uint32_t rkey, uint64_t addr,
                                uint64_t add) {
        begin(which, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {addr, add, 0, rkey};
    };
    qp.wr_send_inv = [](ibv_qp_ex *which, uint32_t rkey) {
        begin(which, IBV_WR_SEND_WITH_INV).invalidate_rkey = rkey;
    };
    qp.wr_local_inv = [](ibv_qp_ex *which, uint32_t rkey) {
        begin(which, IBV_WR_LOCAL_INV).invalidate_rkey = rkey;
    };
    qp.wr_bind_mw = [](ibv_qp_ex *which, ibv_mw *mw, uint32_t rkey,
                       const ibv_mw_bind_info *info) {
        begin(which, IBV_WR_BIND_MW).bind_mw = {mw, rkey, *info};
    };
    qp.wr_set_ud_addr     = set_address;
    qp.wr_set_inline_data = [](ibv_qp_ex *which, void *addr, size_t length) {
        ibv_data_buf piece{addr, length};
        set_inline(which, 1, &piece);
    };
    qp.wr_set_inline_data_list = set_inline;
    qp.wr_set_sge = [](ibv_qp_ex *which, uint32_t lkey, uint64_t addr, uint32_t length) {
        ibv_sge sge{addr, length, lkey};
        set_elements(which, 1, &sge);
    };
    qp.wr_set_sge_list = set_elements;
}

void request_builder::start(ibv_qp_ex *qp)
{
    process &owner = static_cast<queue_pair *>(qp)->owner;
    if (owner.faults.disturbs()) [[unlikely]] {
        owner.faults.wait_out_stall();
    }
    static_cast<queue_pair *>(qp)->m_mutex.lock();
    request_builder &self = of(qp);
    self.m_count          = 0;
    self.m_failure        = 0;
}

void request_builder::abort(ibv_qp_ex *qp)
{
    static_cast<queue_pair *>(qp)->m_mutex.unlock();
}

int request_builder::complete(ibv_qp_ex *qp)
{
    auto &target          = *static_cast<queue_pair *>(qp);
    request_builder &self = of(qp);
    int failure           = self.m_failure;
    for (uint32_t i = 0; (i < self.m_count) && (failure == 0); ++i) {
        request &next   = self.m_requests[i];
        next.wr.sg_list = next.sges; // the vector may have moved it
        if ((next.wr.send_flags & IBV_SEND_INLINE) && (next.wr.num_sge != 0)) {
            next.sges[0].addr = reinterpret_cast<uint64_t>(next.inline_data);
        }
        failure = target.check_post(next.wr, i);
    }
    // All or none of them.
    for (uint32_t i = 0; (i < self.m_count) && (failure == 0); ++i) {
        target.accept(self.m_requests[i].wr);
    }
    target.m_mutex.unlock();
    return failure;
}

ibv_send_wr &request_builder::begin(ibv_qp_ex *qp, ibv_wr_opcode opcode)
{
    request_builder &self = of(qp);
    if (self.m_count == self.m_requests.size()) {
        self.m_requests.emplace_back();
    }
    ibv_send_wr &wr = self.m_requests[self.m_count++].wr;
    wr              = {};
    wr.wr_id        = qp->wr_id;
    wr.send_flags   = qp->wr_flags & ~unsigned{IBV_SEND_INLINE};
    wr.opcode       = opcode;
    return wr;
}

request_builder::request *request_builder::last()
{
    if (m_count == 0) {
        m_failure = EINVAL;
        return nullptr;
    }
    return &m_requests[m_count - 1];
}

void request_builder::rdma(ibv_qp_ex *qp, ibv_wr_opcode opcode, uint32_t rkey,
                           uint64_t addr)
{
    begin(qp, opcode).wr.rdma = {addr, rkey};
}

void request_builder::set_address(ibv_qp_ex *qp, ibv_ah *ah, uint32_t number,
                                  uint32_t key)
{
    if (request *last = of(qp).last()) {
        last->wr.wr.ud = {ah, number, key};
    }
}

void request_builder::set_inline(ibv_qp_ex *qp, size_t count, const ibv_data_buf *pieces)
{
    request *last = of(qp).last();
    if (last == nullptr) {
        return;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; ++i) {
        if (pieces[i].length > sizeof(last->inline_data) - used) {
            of(qp).m_failure = EINVAL;
            return;
        }
        memcpy(last->inline_data + used, pieces[i].addr, pieces[i].length);
        used += pieces[i].length;
    }
    last->wr.send_flags |= IBV_SEND_INLINE;
    last->wr.num_sge = 1;
    last->sges[0]    = {0, static_cast<uint32_t>(used), 0};
}

void request_builder::set_elements(ibv_qp_ex *qp, size_t count, const ibv_sge *list)
{
    request *last = of(qp).last();
    if (last == nullptr) {
        return;
    }
    if (count > limits::sges) {
        of(qp).m_failure = EINVAL;
        return;
    }
    std::copy(list, list + count, last->sges);
    last->wr.num_sge = static_cast<int>(count);
}

} // namespace softrdma
