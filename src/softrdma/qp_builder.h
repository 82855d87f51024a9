// SPDX-License-Identifier: BSD-3-Clause
//
// The ibv_wr_* calls of an extended queue pair: requests are collected between wr_start and wr_complete,
// and posted or dropped together. Their memory is kept for the next round.
//
// Thread rules: the queue pair's lock is held from wr_start to wr_complete or wr_abort, as the calls
// demand of their users.
#pragma once

#include "qp_request.h"

#include <vector>

namespace softrdma {

class request_builder {
public:
    // Sets the calls of that queue pair.
    explicit request_builder(queue_pair &qp);

private:
    using request = queue_pair::stored_request;

    static request_builder &of(ibv_qp_ex *qp)
    {
        return *static_cast<queue_pair *>(qp)->m_builder;
    }

    static void start(ibv_qp_ex *qp);
    static int complete(ibv_qp_ex *qp);
    static void abort(ibv_qp_ex *qp);
    static ibv_send_wr &begin(ibv_qp_ex *qp, ibv_wr_opcode opcode);
    static void rdma(ibv_qp_ex *qp, ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr);
    static void set_address(ibv_qp_ex *qp, ibv_ah *ah, uint32_t number, uint32_t key);
    static void set_inline(ibv_qp_ex *qp, size_t count, const ibv_data_buf *pieces);
    static void set_elements(ibv_qp_ex *qp, size_t count, const ibv_sge *list);

    // The request that is being built; null, and the round fails, when none was begun.
    request *last();

    std::vector<request> m_requests;
    size_t m_count = 0;
    int m_failure  = 0;
};

} // namespace softrdma
