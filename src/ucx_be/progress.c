/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and sleep of an interface. */
#include "ep.h"

/*
 * Tells the user of endpoints that have failed. The handler may destroy any of them. The engine has
 * said why; what is left to say here is which endpoint, at UCX_BE_FAILURE's level if the user takes
 * care of it, else as the fatal error that it is.
 */
static unsigned report_failures(uct_be_iface_t *iface)
{
    unsigned count = 0;
    ucs_status_t status, handled;
    char name[UCT_BE_WHY_MAX];
    uct_be_ep_t *ep;

    while (!ucs_list_is_empty(&iface->failed_eps)) {
        ep = ucs_list_extract_head(&iface->failed_eps, uct_be_ep_t, failed_link);
        ucs_list_head_init(&ep->failed_link);
        ++count;

        status = ep->status;
        ucs_strncpy_zero(name, be_peer_name(ep->peer), sizeof(name));
        handled = uct_iface_handle_ep_err(&iface->super.super, &ep->super.super, status);
        ucs_log((handled == UCS_OK) ? iface->super.config.failure_level :
                                      UCS_LOG_LEVEL_FATAL,
                "be: endpoint %p to %s: %s", ep, name, ucs_status_string(status));
    }

    return count;
}

unsigned uct_be_iface_progress(uct_iface_h tl_iface)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    unsigned count;

    ++iface->round;
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

ucs_status_t uct_be_iface_event_arm(uct_iface_h tl_iface, unsigned events)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);

    if (!ucs_list_is_empty(&iface->failed_eps) || uct_be_iface_pending_ready(iface)) {
        return UCS_ERR_BUSY;
    }

    return uct_be_status(be_fabric_arm(iface->fabric));
}
