/* SPDX-License-Identifier: BSD-3-Clause */
#include "op.h"

enum {
    OPS_PER_CHUNK = 256
};

static ucs_mpool_ops_t op_mpool_ops = {.chunk_alloc   = ucs_mpool_chunk_malloc,
                                       .chunk_release = ucs_mpool_chunk_free};

ucs_status_t uct_be_ops_init(uct_be_iface_t *iface)
{
    return uct_be_mpool_init(&iface->ops, sizeof(uct_be_op_t), OPS_PER_CHUNK,
                             &op_mpool_ops, "be_ops");
}

void uct_be_ops_cleanup(uct_be_iface_t *iface)
{
    /* Abandoned operations need not have come back from the engine, which is gone by now. */
    ucs_mpool_cleanup(&iface->ops, 0);
}

static void op_invoke(uct_completion_t *comp, ucs_status_t status)
{
    if (comp != NULL) {
        uct_invoke_completion(comp, status);
    }
}

/* The last operation before a cancel is complete. Each completion may destroy the endpoint. */
static void complete_cancels(uct_be_iface_t *iface, uct_be_ep_t *ep)
{
    uct_completion_t *comp;
    uct_be_op_t *op;

    while ((iface->active_ep == ep) && ucs_list_is_empty(&ep->ops) &&
           !ucs_list_is_empty(&ep->cancels)) {
        op   = ucs_list_extract_head(&ep->cancels, uct_be_op_t, link);
        comp = op->comp;
        ucs_mpool_put(op);
        op_invoke(comp, UCS_OK);
    }
}

void uct_be_op_complete(void *arg, void *engine_comp, be_status_t status)
{
    uct_be_iface_t *iface  = arg;
    uct_be_op_t *op        = engine_comp;
    uct_be_ep_t *ep        = op->ep;
    uct_completion_t *comp = op->comp;

    if (ucs_unlikely(ep == NULL)) {
        ucs_mpool_put_inline(op);
        return;
    }

    ucs_list_del(&op->link);
    ucs_mpool_put_inline(op);
    if (ucs_likely(ucs_list_is_empty(&ep->cancels))) {
        op_invoke(comp, uct_be_status(status));
        return;
    }

    iface->active_ep = ep;
    op_invoke(comp, uct_be_status(status));
    complete_cancels(iface, ep);
    iface->active_ep = NULL;
}

void uct_be_op_unpack(void *arg, void *unpack_func, void *unpack_arg, const void *data,
                      size_t length)
{
    uct_be_op_t *op = unpack_arg;

    if (op->ep != NULL) {
        op->unpack(op->unpack_arg, data, length);
    }
}

/* The engine still knows the operation; the user no longer. */
static void op_abandon(uct_be_op_t *op)
{
    uct_completion_t *comp = op->comp;

    ucs_list_del(&op->link);
    op->ep = NULL;
    op_invoke(comp, UCS_ERR_CANCELED);
}

unsigned uct_be_ep_cancel_ops(uct_be_ep_t *ep)
{
    unsigned remaining = 0;
    ucs_list_link_t canceled;
    uct_be_op_t *op, *tmp;

    ucs_list_head_init(&canceled);
    ucs_list_for_each_safe(op, tmp, &ep->ops, link) {
        if (op->kind == UCT_BE_OP_ZCOPY) {
            ++remaining;
        } else {
            ucs_list_del(&op->link);
            ucs_list_add_tail(&canceled, &op->link);
        }
    }

    while (!ucs_list_is_empty(&canceled)) {
        op_abandon(ucs_list_head(&canceled, uct_be_op_t, link));
    }
    return remaining;
}

void uct_be_ep_abandon_ops(uct_be_ep_t *ep)
{
    uct_completion_t *comp;
    unsigned count = 0;
    uct_be_op_t *op;

    while (!ucs_list_is_empty(&ep->ops)) {
        op = ucs_list_head(&ep->ops, uct_be_op_t, link);
        count += (op->kind != UCT_BE_OP_FLUSH);
        op_abandon(op);
    }

    /* Only the glue knows of these. */
    while (!ucs_list_is_empty(&ep->cancels)) {
        op   = ucs_list_extract_head(&ep->cancels, uct_be_op_t, link);
        comp = op->comp;
        ucs_mpool_put(op);
        op_invoke(comp, UCS_ERR_CANCELED);
    }

    if ((count > 0) && (ep->gate != UCT_BE_GATE_FAILED)) {
        ucs_warn("be: endpoint %p to %s was destroyed with %u operations under way", ep,
                 be_peer_name(ep->peer), count);
    }
}
