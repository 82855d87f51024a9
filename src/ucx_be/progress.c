/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and sleep of an interface. */
#include "devices.h"
#include "ep.h"
#include "log.h"

#include <stdlib.h>

/* Whether somebody asks for statistics. */
enum {
    rounds_per_look = 256
};

/* Nobody asked to be told of failures, so somebody would wait for ever: one line, and the end. Not UCX's
 * fatal error, whose backtrace says nothing about a process that died elsewhere. */
UCS_F_NOINLINE static void give_up(const char *what)
{
    ucs_error("be: %s; error handling is off (UCP_ERR_HANDLING_MODE_NONE), so this "
              "process ends",
              what);
    ucs_log_flush();
    abort();
}

/* Tells the user of endpoints that have failed; the handler may destroy any of them. Endpoints to one peer
 * fail together: it is named once, and each of them at UCX_BE_FAILURE's level. One that ended in good order is
 * worth no warning: who still had something for it is told by the status. */
static unsigned report_failures(uct_be_iface_t *iface)
{
    const be_peer_t *named = NULL;
    unsigned count         = 0;
    char what[2 * UCT_BE_WHY_MAX];
    const be_peer_t *peer;
    ucs_status_t status;
    uct_be_ep_t *ep;

    while (!ucs_list_is_empty(&iface->failed_eps)) {
        ep = ucs_list_extract_head(&iface->failed_eps, uct_be_ep_t, failed_link);
        ucs_list_head_init(&ep->failed_link);
        ++count;

        peer   = ep->peer;
        status = ep->status;
        snprintf(what, sizeof(what), "%s: lost: %s", be_peer_name(peer),
                 be_peer_failure(peer));
        if (uct_iface_handle_ep_err(&iface->super.super, &ep->super.super, status) !=
            UCS_OK) {
            give_up(what);
        }
        if (peer != named) {
            named = peer;
            uct_be_log(be_peer_departed(peer) ? BE_LOG_INFO : BE_LOG_WARN, what);
        }
        ucs_log(iface->super.config.failure_level, "be: endpoint %p failed: %s", ep,
                ucs_status_string(status));
    }

    return count;
}

unsigned uct_be_iface_progress(uct_iface_h tl_iface)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    unsigned count;

    if (ucs_unlikely((++iface->round % rounds_per_look) == 0) && (iface->stats != NULL)) {
        be_stats_poll(iface->stats);
    }
    count = be_fabric_progress(iface->fabric);
    if (ucs_unlikely(!ucs_list_is_empty(&iface->failed_eps))) {
        count += report_failures(iface);
    }
    if (ucs_unlikely(!ucs_list_is_empty(&iface->pending_eps))) {
        count += uct_be_iface_dispatch_pending(iface);
    }
    return count;
}

ucs_status_t uct_be_iface_event_fd_get(uct_iface_h tl_iface, int *fd_p)
{
    *fd_p = be_fabric_event_fd(ucs_derived_of(tl_iface, uct_be_iface_t)->fabric);
    return UCS_OK;
}

/* Never busy. What is there to do makes the descriptor readable at once: while UCP has no endpoint on an interface, it
 * does not look at that again by itself after UCS_ERR_BUSY, and has told its user meanwhile that there is nothing to
 * do. He sleeps, for ever. */
ucs_status_t uct_be_iface_event_arm(uct_iface_h tl_iface, unsigned events)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    ucs_status_t status   = UCS_ERR_BUSY;

    if (ucs_list_is_empty(&iface->failed_eps) && !uct_be_iface_pending_ready(iface)) {
        if (iface->stats != NULL) {
            be_stats_rest(iface->stats);
        }
        status = uct_be_status(be_fabric_arm(iface->fabric));
    }
    if (status == UCS_ERR_BUSY) {
        be_fabric_signal(iface->fabric);
        status = UCS_OK;
    }
    return status;
}
