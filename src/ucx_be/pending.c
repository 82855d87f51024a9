/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending requests: what could not be sent and is tried again from progress.
 *
 * Endpoints take turns, so that none waits for another's backlog: who was served goes to the end,
 * who found no resources keeps his place and what is left of his turn. The requests of one endpoint
 * stay in order among each other and ahead of every later send: a request at its turn may make one
 * send per call, so that the sends of a completion callback, which runs inside the turn too, queue
 * up behind it. The engine is told how many requests wait: that is the peer's demand for credit.
 *
 * Turns go round within one progress as long as anything moves: an endpoint that keeps some requests while it could send
 * them stays closed, and each further send of a busy user becomes a request too, which costs as much again.
 */
#include "ep.h"

enum {
    REQUESTS_PER_TURN     = 16,
    REQUESTS_PER_PROGRESS = 256 /* then what arrives has its turn */
};

typedef enum {
    TURN_GOES_ON, /* the next request may follow */
    TURN_ENDS, /* no resources */
    TURN_EP_GONE /* the request destroyed its endpoint */
} turn_t;

ucs_status_t uct_be_ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t *req, unsigned flags)
{
    uct_be_ep_t *ep       = ucs_derived_of(tl_ep, uct_be_ep_t);
    uct_be_iface_t *iface = uct_be_ep_iface(ep);

    if (ep->gate == UCT_BE_GATE_FAILED) {
        return UCS_ERR_BUSY; /* the caller tries again and sees the error */
    }

    if (ep->gate == UCT_BE_GATE_OPEN) {
        /* Resources may have come back since the send was refused; but if that was in this very
         * round, asking the caller to try again would have him circle for ever. */
        if ((ep->refused != iface->round) && be_peer_can_send(ep->peer)) {
            return UCS_ERR_BUSY;
        }

        ep->gate = UCT_BE_GATE_CLOSED;
        ucs_list_add_tail(&iface->pending_eps, &ep->pending_link);
    }

    uct_pending_req_queue_push(&ep->pending, req);
    ++ep->demand;
    be_peer_demand(ep->peer, 1);
    UCT_TL_EP_STAT_PEND(&ep->super);
    return UCS_OK;
}

static uct_pending_req_t *take_request(uct_be_ep_t *ep)
{
    uct_pending_req_priv_queue_t *priv;

    priv = ucs_queue_pull_elem_non_empty(&ep->pending, uct_pending_req_priv_queue_t,
                                         queue_elem);
    return ucs_container_of(priv, uct_pending_req_t, priv);
}

static void request_done(uct_be_ep_t *ep)
{
    --ep->demand;
    be_peer_demand(ep->peer, -1);
}

static void leave_turns(uct_be_ep_t *ep)
{
    uct_be_iface_t *iface = uct_be_ep_iface(ep);

    if (iface->next_turn == &ep->pending_link) {
        iface->next_turn = ep->pending_link.next;
    }
    ucs_list_del(&ep->pending_link);
    ucs_list_head_init(&ep->pending_link);
    if (ep->gate != UCT_BE_GATE_FAILED) {
        ep->gate = UCT_BE_GATE_OPEN;
    }
}

void uct_be_ep_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t cb, void *arg)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);
    uct_pending_req_t *req;

    while (!ucs_queue_is_empty(&ep->pending)) {
        req = take_request(ep);
        request_done(ep);
        cb(req, arg);
    }

    /* During the endpoint's turn, that turn's end takes care of it. */
    if (uct_be_ep_iface(ep)->active_ep != ep) {
        leave_turns(ep);
    }
}

static turn_t run_request(uct_be_iface_t *iface, uct_be_ep_t *ep, unsigned *count_p)
{
    uct_pending_req_t *req = take_request(ep);
    ucs_status_t status;
    int sent;

    if (ep->gate != UCT_BE_GATE_FAILED) {
        ep->gate = UCT_BE_GATE_TURN;
    }

    iface->active_ep = ep;
    status           = req->func(req);
    if (iface->active_ep == NULL) {
        ++*count_p;
        return TURN_EP_GONE;
    }

    iface->active_ep = NULL;
    sent             = (ep->gate == UCT_BE_GATE_SENT);
    if (ep->gate != UCT_BE_GATE_FAILED) {
        ep->gate = UCT_BE_GATE_CLOSED;
    }

    if (status == UCS_OK) {
        request_done(ep);
        ++*count_p;
        return TURN_GOES_ON;
    }

    ucs_queue_push_head(&ep->pending, uct_pending_req_priv_queue_elem(req));
    if (!UCS_STATUS_IS_ERR(status) || sent) {
        /* It moved on; if refused, then only its second send of this call. */
        ++*count_p;
        return TURN_GOES_ON;
    }

    return TURN_ENDS;
}

/* 1: the turn was cut short for want of resources, and the endpoint still has requests. */
static int take_turn(uct_be_iface_t *iface, uct_be_ep_t *ep, unsigned *count_p)
{
    if (ep->turn_left == 0) {
        ep->turn_left = REQUESTS_PER_TURN;
    }

    /* A failed endpoint's requests run, to meet the error. Those of others meet for themselves what changes within the
     * turn. */
    if ((ep->gate != UCT_BE_GATE_FAILED) && !be_peer_can_send(ep->peer)) {
        return 1;
    }

    for (; (ep->turn_left > 0) && !ucs_queue_is_empty(&ep->pending); --ep->turn_left) {
        switch (run_request(iface, ep, count_p)) {
        case TURN_GOES_ON:
            break;
        case TURN_ENDS:
            return 1;
        case TURN_EP_GONE:
            return 0;
        }
    }

    if (ucs_queue_is_empty(&ep->pending)) {
        ep->turn_left = 0;
        leave_turns(ep);
    }
    return 0;
}

/* One turn for each; returns how many requests moved on. */
static unsigned go_round(uct_be_iface_t *iface)
{
    unsigned turns = ucs_list_length(&iface->pending_eps);
    unsigned count = 0;
    ucs_list_link_t cut;
    uct_be_ep_t *ep;

    /* Whose turn was cut short is first in the next round: he would fall behind otherwise. */
    ucs_list_head_init(&cut);
    for (; (turns > 0) && !ucs_list_is_empty(&iface->pending_eps); --turns) {
        ep = ucs_list_extract_head(&iface->pending_eps, uct_be_ep_t, pending_link);
        ucs_list_add_tail(&iface->pending_eps, &ep->pending_link);
        if (take_turn(iface, ep, &count)) {
            ucs_list_del(&ep->pending_link);
            ucs_list_add_tail(&cut, &ep->pending_link);
        }
    }

    while (!ucs_list_is_empty(&cut)) {
        ep = ucs_list_tail(&cut, uct_be_ep_t, pending_link);
        ucs_list_del(&ep->pending_link);
        ucs_list_add_head(&iface->pending_eps, &ep->pending_link);
    }

    return count;
}

unsigned uct_be_iface_dispatch_pending(uct_be_iface_t *iface)
{
    unsigned count = 0;
    unsigned moved;

    do {
        moved = go_round(iface);
        count += moved;
    } while ((moved > 0) && (count < REQUESTS_PER_PROGRESS) &&
             !ucs_list_is_empty(&iface->pending_eps));
    return count;
}

int uct_be_iface_pending_ready(uct_be_iface_t *iface)
{
    uct_be_ep_t *ep;

    ucs_list_for_each(ep, &iface->pending_eps, pending_link) {
        if ((ep->gate == UCT_BE_GATE_FAILED) ||
            ((ep->refused != iface->round) && be_peer_can_send(ep->peer))) {
            return 1;
        }
    }

    return 0;
}
