/* SPDX-License-Identifier: BSD-3-Clause */
#include "ep.h"
#include "op.h"

ucs_status_t uct_be_ep_gate_status(const uct_be_ep_t *ep)
{
    return (ep->gate == UCT_BE_GATE_FAILED) ? ep->status : UCS_ERR_NO_RESOURCE;
}

void uct_be_ep_set_failed(uct_be_ep_t *ep, ucs_status_t status, int report)
{
    uct_be_iface_t *iface = uct_be_ep_iface(ep);

    if (ep->gate == UCT_BE_GATE_FAILED) {
        return;
    }

    ep->gate   = UCT_BE_GATE_FAILED;
    ep->status = status;
    if (report) {
        ucs_list_add_tail(&iface->failed_eps, &ep->failed_link);
    }
}

UCS_CLASS_INIT_FUNC(uct_be_ep_t, const uct_ep_params_t *params)
{
    uct_be_iface_t *iface = ucs_derived_of(params->iface, uct_be_iface_t);
    be_status_t status;

    UCT_EP_PARAMS_CHECK_DEV_IFACE_ADDRS(params);
    UCS_CLASS_CALL_SUPER_INIT(uct_base_ep_t, &iface->super);

    self->gate      = UCT_BE_GATE_OPEN;
    self->status    = UCS_OK;
    self->refused   = UINT64_MAX;
    self->demand    = 0;
    self->turn_left = 0;
    ucs_queue_head_init(&self->pending);
    ucs_list_head_init(&self->ops);
    ucs_list_head_init(&self->cancels);
    ucs_list_head_init(&self->pending_link);
    ucs_list_head_init(&self->failed_link);

    status = be_peer_get(iface->fabric, (const uint8_t *)params->iface_addr, &self->peer);
    if (status != BE_OK) {
        return uct_be_error(status);
    }

    ucs_list_add_tail(&iface->eps, &self->iface_link);
    status = be_peer_status(self->peer);
    if (status < BE_OK) {
        /* It failed before; who asks for it again learns that in the same way. */
        uct_be_ep_set_failed(self, uct_be_error(status), 1);
    }
    return UCS_OK;
}

static void warn_purged(uct_pending_req_t *req, void *arg)
{
    ucs_warn("be: endpoint %p was destroyed while request %p (%s) was pending", arg, req,
             ucs_debug_get_symbol_name((void *)req->func));
}

static UCS_CLASS_CLEANUP_FUNC(uct_be_ep_t)
{
    uct_be_iface_t *iface = uct_be_ep_iface(self);

    if (iface->active_ep == self) {
        iface->active_ep = NULL;
    }
    uct_be_ep_pending_purge(&self->super.super, warn_purged, self);
    uct_be_ep_abandon_ops(self);
    ucs_list_del(&self->failed_link);
    ucs_list_del(&self->iface_link);
    if (self->demand > 0) {
        /* The request that runs right now destroys its own endpoint. */
        be_peer_demand(self->peer, -(int)self->demand);
    }
    be_peer_put(self->peer);
}

UCS_CLASS_DEFINE(uct_be_ep_t, uct_base_ep_t);
UCS_CLASS_DEFINE_NEW_FUNC(uct_be_ep_t, uct_ep_t, const uct_ep_params_t *);
UCS_CLASS_DEFINE_DELETE_FUNC(uct_be_ep_t, uct_ep_t);
