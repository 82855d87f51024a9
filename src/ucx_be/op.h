/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that the engine completes later.
 *
 * Between the engine and the user's completion stands one of these, so that destroying an endpoint
 * or canceling its operations completes them at once (as UCP relies on) although the engine, which
 * shares the peer with other endpoints, is still at work. Every completion is called exactly once.
 */
#ifndef UCX_BE_OP_H
#define UCX_BE_OP_H

#include "ep.h"

typedef enum {
    UCT_BE_OP_ZCOPY, /* uses the user's memory: cannot be canceled */
    UCT_BE_OP_GET, /* into the engine's memory, then unpacked */
    UCT_BE_OP_FLUSH
} uct_be_op_kind_t;

typedef struct uct_be_op {
    ucs_list_link_t link; /* uct_be_ep_t::ops or ::cancels */
    uct_be_ep_t *ep; /* NULL: abandoned, the user has his completion already */
    uct_be_op_kind_t kind;
    uct_completion_t *comp; /* may be NULL */
    uct_unpack_callback_t unpack;
    void *unpack_arg;
} uct_be_op_t;

ucs_status_t uct_be_ops_init(uct_be_iface_t *iface);
void uct_be_ops_cleanup(uct_be_iface_t *iface);

/* NULL when memory is short. Not yet in any list. */
static UCS_F_ALWAYS_INLINE uct_be_op_t *
uct_be_op_get(uct_be_ep_t *ep, uct_be_op_kind_t kind, uct_completion_t *comp)
{
    uct_be_op_t *op = ucs_mpool_get_inline(&uct_be_ep_iface(ep)->ops);

    if (ucs_likely(op != NULL)) {
        op->ep   = ep;
        op->kind = kind;
        op->comp = comp;
    }
    return op;
}

/* After the engine answered: keeps the operation if it goes on, else gives it back. */
static UCS_F_ALWAYS_INLINE void uct_be_op_started(uct_be_op_t *op, be_status_t status)
{
    if (status == BE_INPROGRESS) {
        ucs_list_add_tail(&op->ep->ops, &op->link);
    } else {
        ucs_mpool_put_inline(op);
    }
}

/* be_fabric_callbacks_t::complete and ::unpack */
void uct_be_op_complete(void *arg, void *comp, be_status_t status);
void uct_be_op_unpack(void *arg, void *unpack_func, void *unpack_arg, const void *data,
                      size_t length);

/* Completes with UCS_ERR_CANCELED what uses no memory of the user; returns how many remain. */
unsigned uct_be_ep_cancel_ops(uct_be_ep_t *ep);
/* Completes everything with UCS_ERR_CANCELED: the endpoint goes away. */
void uct_be_ep_abandon_ops(uct_be_ep_t *ep);

#endif
