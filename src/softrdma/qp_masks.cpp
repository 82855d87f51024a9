// SPDX-License-Identifier: BSD-3-Clause
//
// The table is that of the InfiniBand specification (QP state transition properties), as the kernel's
// ib_modify_qp_is_ok() has it.
#include "qp_masks.h"

namespace softrdma {
namespace {

struct transition {
    ibv_qp_type type;
    ibv_qp_state from;
    ibv_qp_state to;
    int required;
    int optional;
};

constexpr int connected_init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int datagram_init  = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int uc_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int rc_rtr = uc_rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int rc_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int rtr_optional = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int ud_running   = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr int uc_running   = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                           IBV_QP_PATH_MIG_STATE;
constexpr int rc_running = uc_running | IBV_QP_MIN_RNR_TIMER;
constexpr int uc_drained = IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                           IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
constexpr int rc_drained = uc_drained | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                           IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

constexpr transition transitions[] = {
        {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, connected_init, 0},
        {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0, connected_init},
        {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, rc_rtr, rtr_optional},
        {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, rc_rts, rc_running},
        {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0, rc_running},
        {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, 0, rc_running},
        {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, 0, rc_drained},

        {IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, connected_init, 0},
        {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_INIT, 0, connected_init},
        {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, uc_rtr, rtr_optional},
        {IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, uc_running},
        {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_RTS, 0, uc_running},
        {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_RTS, 0, uc_running},
        {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_SQD, 0, uc_drained},
        {IBV_QPT_UC, IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},

        {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, datagram_init, 0},
        {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0, datagram_init},
        {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, ud_running},
        {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, ud_running},
        {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_RTS, 0, ud_running},
        {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, 0, ud_running},
};

} // namespace

bool modify_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask)
{
    int given = mask & ~IBV_QP_STATE;
    if ((to == IBV_QPS_RESET) || (to == IBV_QPS_ERR)) {
        return (given & ~IBV_QP_CUR_STATE) == 0;
    }
    for (const transition &entry : transitions) {
        if ((entry.type == type) && (entry.from == from) && (entry.to == to)) {
            return ((given & entry.required) == entry.required) &&
                   ((given & ~(entry.required | entry.optional)) == 0);
        }
    }
    return false;
}

} // namespace softrdma
