/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoint: a way to one peer. Endpoints to the same peer share its queue pairs, so an endpoint is
 * little more than a reference to the engine's peer, its pending requests and its operations under
 * way.
 *
 * Order: while requests are pending, new sends are refused, and only the request whose turn it is
 * may send. `gate` is all that the data path looks at.
 */
#ifndef UCX_BE_EP_H
#define UCX_BE_EP_H

#include "iface.h"
#include "status.h"

typedef enum {
    UCT_BE_GATE_OPEN, /* sends are tried */
    UCT_BE_GATE_TURN, /* the pending request that runs now may send once */
    UCT_BE_GATE_SENT, /* it did: UCS_ERR_NO_RESOURCE until it returns */
    UCT_BE_GATE_CLOSED, /* requests are pending: UCS_ERR_NO_RESOURCE */
    UCT_BE_GATE_FAILED /* every operation returns uct_be_ep_t::status */
} uct_be_gate_t;

struct uct_be_ep {
    uct_base_ep_t super;
    be_peer_t *peer;
    uct_be_gate_t gate;
    ucs_status_t status; /* why the gate is FAILED */
    uint64_t refused; /* round in which the engine last refused a send */
    ucs_queue_head_t pending; /* uct_pending_req_t */
    unsigned demand; /* of those, and the one that runs: told to the engine */
    unsigned turn_left; /* requests of a turn that was cut short, 0: the next one is whole */
    ucs_list_link_t ops; /* uct_be_op_t that the engine works on */
    ucs_list_link_t cancels; /* uct_be_op_t: flushes that wait until `ops` is empty */
    ucs_list_link_t iface_link; /* uct_be_iface_t::eps */
    ucs_list_link_t pending_link; /* ::pending_eps, or nowhere */
    ucs_list_link_t failed_link; /* ::failed_eps, or nowhere */
};

UCS_CLASS_DECLARE(uct_be_ep_t, const uct_ep_params_t *);
UCS_CLASS_DECLARE_NEW_FUNC(uct_be_ep_t, uct_ep_t, const uct_ep_params_t *);
UCS_CLASS_DECLARE_DELETE_FUNC(uct_be_ep_t, uct_ep_t);

static UCS_F_ALWAYS_INLINE uct_be_iface_t *uct_be_ep_iface(const uct_be_ep_t *ep)
{
    return ucs_derived_of(ep->super.super.iface, uct_be_iface_t);
}

/* What a closed gate answers. */
ucs_status_t uct_be_ep_gate_status(const uct_be_ep_t *ep);

/* Before a send; anything but UCS_OK is its result. */
static UCS_F_ALWAYS_INLINE ucs_status_t uct_be_ep_check_gate(const uct_be_ep_t *ep)
{
    return ucs_likely(ep->gate <= UCT_BE_GATE_TURN) ? UCS_OK : uct_be_ep_gate_status(ep);
}

/* After the engine answered a send: a refusal is remembered, a turn is used up. */
static UCS_F_ALWAYS_INLINE ucs_status_t uct_be_ep_sent(uct_be_ep_t *ep,
                                                       be_status_t status)
{
    if (ucs_likely((status >= BE_OK) && (ep->gate == UCT_BE_GATE_OPEN))) {
        return (status == BE_OK) ? UCS_OK : UCS_INPROGRESS;
    }

    if (status == BE_ERR_NO_RESOURCE) {
        ep->refused = uct_be_ep_iface(ep)->round;
        UCS_STATS_UPDATE_COUNTER(ep->super.stats, UCT_EP_STAT_NO_RES, 1);
    } else if ((status >= BE_OK) && (ep->gate == UCT_BE_GATE_TURN)) {
        ep->gate = UCT_BE_GATE_SENT;
    }
    return uct_be_status(status);
}

/* All operations return `status` from now on. `report`: tell the user, from the next progress. */
void uct_be_ep_set_failed(uct_be_ep_t *ep, ucs_status_t status, int report);

/* -------------------------------------------------------------------- ep_am.c */
ucs_status_t uct_be_ep_am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                                const void *payload, unsigned length);
ucs_status_t
uct_be_ep_am_short_iov(uct_ep_h ep, uint8_t id, const uct_iov_t *iov, size_t iovcnt);
ssize_t uct_be_ep_am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack_cb,
                           void *arg, unsigned flags);
ucs_status_t uct_be_ep_am_zcopy(uct_ep_h ep, uint8_t id, const void *header,
                                unsigned header_length, const uct_iov_t *iov,
                                size_t iovcnt, unsigned flags, uct_completion_t *comp);

/* ------------------------------------------------------------------- ep_rma.c */
ucs_status_t uct_be_ep_put_short(uct_ep_h ep, const void *buffer, unsigned length,
                                 uint64_t remote_addr, uct_rkey_t rkey);
ssize_t uct_be_ep_put_bcopy(uct_ep_h ep, uct_pack_callback_t pack_cb, void *arg,
                            uint64_t remote_addr, uct_rkey_t rkey);
ucs_status_t uct_be_ep_put_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                                 uint64_t remote_addr, uct_rkey_t rkey,
                                 uct_completion_t *comp);
ucs_status_t uct_be_ep_get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack_cb, void *arg,
                                 size_t length, uint64_t remote_addr, uct_rkey_t rkey,
                                 uct_completion_t *comp);
ucs_status_t uct_be_ep_get_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t iovcnt,
                                 uint64_t remote_addr, uct_rkey_t rkey,
                                 uct_completion_t *comp);

/* -------------------------------------------------------------------- flush.c */
ucs_status_t uct_be_ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp);
ucs_status_t uct_be_ep_fence(uct_ep_h ep, unsigned flags);

/* ------------------------------------------------------------------ pending.c */
ucs_status_t uct_be_ep_pending_add(uct_ep_h ep, uct_pending_req_t *req, unsigned flags);
void uct_be_ep_pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb, void *arg);

/* Turns for the endpoints with pending requests; returns how many requests moved on. */
unsigned uct_be_iface_dispatch_pending(uct_be_iface_t *iface);
/* 1: a request could be sent, so nobody should fall asleep. */
int uct_be_iface_pending_ready(uct_be_iface_t *iface);

/* ---------------------------------------------------------------------- vfs.c */
void uct_be_ep_vfs_populate(uct_be_ep_t *ep);

#endif
