/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and fence, of endpoints and of the interface. */
#include "ep.h"
#include "op.h"

/*
 * UCT_FLUSH_FLAG_CANCEL: the endpoint is given up. What can be dropped is completed at once. An
 * operation on the user's memory goes on, because the queue pair belongs to other endpoints too,
 * and the flush ends with the last of these.
 */
static ucs_status_t ep_cancel(uct_be_ep_t *ep, uct_completion_t *comp)
{
    uct_be_op_t *op;

    uct_be_ep_set_failed(ep, UCS_ERR_CANCELED, 0);
    if (uct_be_ep_cancel_ops(ep) == 0) {
        return UCS_OK;
    }

    if (comp != NULL) {
        op = uct_be_op_get(ep, UCT_BE_OP_FLUSH, comp);
        if (op == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        ucs_list_add_tail(&ep->cancels, &op->link);
    }
    return UCS_INPROGRESS;
}

ucs_status_t uct_be_ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    uct_be_op_t *op = NULL;
    ucs_status_t status;
    be_status_t result;

    if (ucs_unlikely(flags & UCT_FLUSH_FLAG_CANCEL)) {
        return ep_cancel(ep, comp);
    }

    /* A flush takes no turn: the gate matters only when it belongs to others. */
    if (ep->gate >= UCT_BE_GATE_CLOSED) {
        return uct_be_ep_gate_status(ep);
    }

    if (comp != NULL) {
        op = uct_be_op_get(ep, UCT_BE_OP_FLUSH, comp);
        if (op == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }

    /* The engine's flush means "complete at the target", which covers all of UCT's kinds. */
    result = be_peer_flush(ep->peer, op);
    if (op != NULL) {
        uct_be_op_started(op, result);
    }

    status = uct_be_status(result);
    if (status == UCS_OK) {
        UCT_TL_EP_STAT_FLUSH(&ep->super);
    } else if (status == UCS_INPROGRESS) {
        UCT_TL_EP_STAT_FLUSH_WAIT(&ep->super);
    } else if (status == UCS_ERR_NO_RESOURCE) {
        ep->refused = uct_be_ep_iface(ep)->round;
    }
    return status;
}

ucs_status_t uct_be_ep_fence(uct_ep_h tl_ep, unsigned flags)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);

    be_peer_fence(ep->peer);
    UCT_TL_EP_STAT_FENCE(&ep->super);
    return UCS_OK;
}

ucs_status_t
uct_be_iface_flush(uct_iface_h tl_iface, unsigned flags, uct_completion_t *comp)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    ucs_status_t status;

    if (comp != NULL) {
        return UCS_ERR_UNSUPPORTED;
    }

    /* UCP asks until everything it has sent is out, the pending part too. */
    status = ucs_list_is_empty(&iface->pending_eps) ?
                     uct_be_status(be_fabric_flush(iface->fabric, NULL)) :
                     UCS_INPROGRESS;
    if (status == UCS_INPROGRESS) {
        UCT_TL_IFACE_STAT_FLUSH_WAIT(&iface->super);
    } else {
        UCT_TL_IFACE_STAT_FLUSH(&iface->super);
    }
    return status;
}

ucs_status_t uct_be_iface_fence(uct_iface_h tl_iface, unsigned flags)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);

    be_fabric_fence(iface->fabric);
    UCT_TL_IFACE_STAT_FENCE(&iface->super);
    return UCS_OK;
}
