// SPDX-License-Identifier: BSD-3-Clause
//
// The extended completion queue: polling one completion at a time through readers.
#include "cq.h"

#include "clock.h"
#include "context.h"

#include <cerrno>

namespace softrdma {
namespace {

constexpr uint64_t timestamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr uint64_t supported_fields = uint64_t{IBV_WC_STANDARD_FLAGS} | timestamps;
constexpr uint32_t supported_flags  = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

completion_queue &self(ibv_cq_ex *cq)
{
    return *static_cast<completion_queue *>(cq);
}

int start_poll(ibv_cq_ex *cq, ibv_poll_cq_attr *attr)
{
    return (attr->comp_mask != 0) ? EINVAL : self(cq).start_poll();
}

int next_poll(ibv_cq_ex *cq)
{
    return self(cq).next_poll();
}

void end_poll(ibv_cq_ex *cq)
{
    self(cq).end_poll();
}

uint64_t completion_time(ibv_cq_ex *cq)
{
    return self(cq).current.time;
}

// The clocks' distance is that of now: what the wall clock says of the time of the completion.
uint64_t wall_clock_ns(ibv_cq_ex *cq)
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t wall = uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
    return wall - (now_ns() - self(cq).current.time);
}

} // namespace

void set_cq_readers(ibv_cq_ex &cq)
{
    cq.start_poll  = start_poll;
    cq.next_poll   = next_poll;
    cq.end_poll    = end_poll;
    cq.read_opcode = [](ibv_cq_ex *which) {
        return static_cast<ibv_wc_opcode>(self(which).current.opcode);
    };
    cq.read_vendor_err = [](ibv_cq_ex *) { return uint32_t{0}; };
    cq.read_byte_len   = [](ibv_cq_ex *which) { return self(which).current.byte_len; };
    cq.read_imm_data   = [](ibv_cq_ex *which) {
        return __be32{self(which).current.imm_data};
    };
    cq.read_qp_num   = [](ibv_cq_ex *which) { return self(which).current.qp_num; };
    cq.read_src_qp   = [](ibv_cq_ex *which) { return self(which).current.src_qp; };
    cq.read_wc_flags = [](ibv_cq_ex *which) {
        return unsigned{self(which).current.wc_flags};
    };
    cq.read_slid = [](ibv_cq_ex *which) { return uint32_t{self(which).current.slid}; };
    cq.read_sl   = [](ibv_cq_ex *) { return uint8_t{0}; };
    cq.read_dlid_path_bits          = [](ibv_cq_ex *) { return uint8_t{0}; };
    cq.read_completion_ts           = completion_time;
    cq.read_completion_wallclock_ns = wall_clock_ns;
}

ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr)
{
    if (!is_usable(context)) {
        errno = EIO;
        return nullptr;
    }
    if (((attr->wc_flags & ~supported_fields) != 0) ||
        ((attr->comp_mask & ~uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS}) != 0) ||
        ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
         ((attr->flags & ~supported_flags) != 0))) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (attr->comp_vector >= static_cast<uint32_t>(context->num_comp_vectors)) {
        errno = EINVAL;
        return nullptr;
    }
    completion_queue *cq = completion_queue::create(*device_context::from(context),
                                                    attr->cqe, attr->cq_context,
                                                    attr->channel);
    if (cq != nullptr) {
        cq->extend((attr->wc_flags & timestamps) != 0,
                   (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
                           (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED));
    }
    return cq;
}

} // namespace softrdma
