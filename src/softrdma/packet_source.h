// SPDX-License-Identifier: BSD-3-Clause
//
// Who sends, as a queue pair looks at it before it takes a packet.
#pragma once

#include "ah.h"
#include "qp.h"

namespace softrdma {

// Of a request of `qp` to a port of number `to_device`.
inline packet_source
source_of(const queue_pair &qp, const ibv_send_wr &wr, uint32_t to_device)
{
    uint32_t key = 0;
    if (qp.qp_base.qp_type == IBV_QPT_UD) {
        // A key with the top bit set stands for the sender's own.
        key = wr.wr.ud.remote_qkey;
        key = ((key & 0x80000000u) != 0) ? qp.attributes.qkey : key;
    }
    return {static_cast<uint32_t>(qp.qp_base.qp_type),
            qp.qp_base.qp_num,
            qp.device,
            to_device,
            qp.attributes.sq_psn,
            key};
}

// Whether the queue pair takes packets from there.
inline bool accepts(const qp_shared &target, const packet_source &from)
{
    uint32_t state = target.state.load(std::memory_order_seq_cst);
    bool listens   = (state == IBV_QPS_RTR) || (state == IBV_QPS_RTS) ||
                   (state == IBV_QPS_SQD) || (state == IBV_QPS_SQE);
    if (!listens || (target.type != from.type) || (target.device != from.to_device)) {
        return false;
    }
    if (target.type == IBV_QPT_UD) {
        return target.qkey == from.qkey;
    }
    return (target.dest_qpn == from.number) && (target.dest_device == from.device) &&
           (target.rq_psn == from.psn);
}

} // namespace softrdma
