/* SPDX-License-Identifier: BSD-3-Clause */
#include "ep.h"
#include "md.h"
#include "op.h"

#include <strings.h>

/* Largest alignment of received payloads that can be asked for, bytes. */
enum {
    AM_ALIGNMENT_MAX = 4096
};

static void handle_peer_failed(void *arg, be_peer_t *peer, be_status_t status)
{
    uct_be_iface_t *iface = arg;
    uct_be_ep_t *ep;

    ucs_list_for_each(ep, &iface->eps, iface_link) {
        if (ep->peer == peer) {
            uct_be_ep_set_failed(ep, uct_be_error(status), 1);
        }
    }
}

static ucs_status_t ep_check(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    uct_be_ep_t *ep = ucs_derived_of(tl_ep, uct_be_ep_t);

    UCT_BE_EP_CHECK_PARAMS(flags, comp);
    if (ep->gate != UCT_BE_GATE_FAILED) {
        /* Whatever it finds arrives as a failure of the peer. */
        (void)be_peer_check(ep->peer);
    }
    return UCS_OK;
}

/* Where in a received message alignment is wanted: params of the user to the engine's. */
static ucs_status_t
set_alignment(const uct_iface_params_t *params, be_fabric_config_t *config)
{
    ucs_status_t status;

    status = uct_iface_param_am_alignment(params, config->segment_size, 0, 0,
                                          &config->am_alignment,
                                          &config->am_align_offset);
    if (status != UCS_OK) {
        return status;
    }

    if (!ucs_is_pow2(config->am_alignment) || (config->am_alignment > AM_ALIGNMENT_MAX)) {
        ucs_error("be: active message alignment %zu, expected a power of two up to %d",
                  config->am_alignment, AM_ALIGNMENT_MAX);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

static be_stats_t *open_stats(uct_be_iface_t *iface, const char *where, const char *serve)
{
    char device[sizeof(iface->port.device) + 8];

    snprintf(device, sizeof(device), "%s:%u", iface->port.device, iface->port.port);
    return be_stats_open(iface->fabric, device,
                         !strcasecmp(where, "no")   ? NULL :
                         !strcasecmp(where, "auto") ? "" :
                                                      where,
                         serve);
}

UCS_CLASS_INIT_FUNC(uct_be_iface_t, uct_md_h uct_md, uct_worker_h worker,
                    const uct_iface_params_t *params, const uct_iface_config_t *tl_config)
{
    const uct_be_iface_config_t *config   = ucs_derived_of(tl_config,
                                                           uct_be_iface_config_t);
    uct_be_md_t *md                       = ucs_derived_of(uct_md, uct_be_md_t);
    const be_fabric_callbacks_t callbacks = {.arg         = self,
                                             .am          = uct_be_iface_handle_am,
                                             .complete    = uct_be_op_complete,
                                             .unpack      = uct_be_op_unpack,
                                             .peer_failed = handle_peer_failed};
    be_fabric_config_t engine_config;
    const be_port_info_t *port;
    ucs_status_t status;

    UCT_CHECK_PARAM(params->field_mask & UCT_IFACE_PARAM_FIELD_OPEN_MODE,
                    "UCT_IFACE_PARAM_FIELD_OPEN_MODE is not defined");
    if (!(params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE)) {
        ucs_error("be: only UCT_IFACE_OPEN_MODE_DEVICE is supported");
        return UCS_ERR_UNSUPPORTED;
    }

    /* Its field bit is not asked for: ucx_perftest leaves it out and fills the field in. */
    port = uct_be_md_find_port(md, params->mode.device.dev_name);
    if (port == NULL) {
        ucs_error("be: %s has no usable port called '%s'", md->first_port->device,
                  params->mode.device.dev_name);
        return UCS_ERR_NO_DEVICE;
    }

    UCS_CLASS_CALL_SUPER_INIT(uct_base_iface_t, &uct_be_iface_ops,
                              &uct_be_iface_internal_ops, uct_md, worker, params,
                              tl_config UCS_STATS_ARG((params->field_mask &
                                                       UCT_IFACE_PARAM_FIELD_STATS_ROOT) ?
                                                              params->stats_root :
                                                              NULL) UCS_STATS_ARG("be"));

    status = uct_be_options_to_engine(config, port, &engine_config);
    if (status == UCS_OK) {
        status = set_alignment(params, &engine_config);
    }
    if (status != UCS_OK) {
        return status;
    }

    self->port            = *port;
    self->rx_headroom     = UCT_IFACE_PARAM_VALUE(params, rx_headroom, RX_HEADROOM, 0ul);
    self->release_desc.cb = uct_be_iface_release_desc;
    self->round           = 0;
    self->active_ep       = NULL;
    self->next_turn       = NULL;
    ucs_list_head_init(&self->eps);
    ucs_list_head_init(&self->pending_eps);
    ucs_list_head_init(&self->failed_eps);

    status = uct_be_ops_init(self);
    if (status != UCS_OK) {
        return status;
    }

    engine_config.shared      = self->super.worker->thread_mode != UCS_THREAD_MODE_SINGLE;
    engine_config.rx_headroom = self->rx_headroom + UCT_BE_RX_PRIVATE_HEADROOM;
    status = uct_be_status(be_fabric_create(md->engine_md, port->port, &engine_config,
                                            &callbacks, &self->fabric));
    if (status != UCS_OK) {
        goto err_ops;
    }

    be_fabric_query(self->fabric, &self->attr);
    ucs_assert_always(self->attr.max_iov <= BE_MAX_SGE);
    self->stats = open_stats(self, config->stats, config->metrics);
    return UCS_OK;

err_ops:
    uct_be_ops_cleanup(self);
    return status;
}

static UCS_CLASS_CLEANUP_FUNC(uct_be_iface_t)
{
    uct_base_iface_progress_disable(&self->super.super,
                                    UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    if (!ucs_list_is_empty(&self->eps)) {
        ucs_warn("be: interface %p is closed with %lu endpoints", self,
                 ucs_list_length(&self->eps));
    }
    if (self->stats != NULL) {
        be_stats_close(self->stats);
    }
    be_fabric_destroy(self->fabric);
    uct_be_ops_cleanup(self);
}

UCS_CLASS_DEFINE(uct_be_iface_t, uct_base_iface_t);
UCS_CLASS_DEFINE_NEW_FUNC(uct_be_iface_t, uct_iface_t, uct_md_h, uct_worker_h,
                          const uct_iface_params_t *, const uct_iface_config_t *);
static UCS_CLASS_DEFINE_DELETE_FUNC(uct_be_iface_t, uct_iface_t);

uct_iface_internal_ops_t uct_be_iface_internal_ops = {
        .iface_estimate_perf = uct_base_iface_estimate_perf,
        .iface_vfs_refresh   = uct_be_iface_vfs_refresh,
        .ep_query            = (uct_ep_query_func_t)ucs_empty_function_return_unsupported,
        .ep_invalidate = (uct_ep_invalidate_func_t)ucs_empty_function_return_unsupported,
        UCT_BE_IFACE_INTERNAL_OPS_OF_RELEASE(uct_be_iface_is_reachable_v2)};

uct_iface_ops_t uct_be_iface_ops = {
        .ep_put_short             = uct_be_ep_put_short,
        .ep_put_bcopy             = uct_be_ep_put_bcopy,
        .ep_put_zcopy             = uct_be_ep_put_zcopy,
        .ep_get_bcopy             = uct_be_ep_get_bcopy,
        .ep_get_zcopy             = uct_be_ep_get_zcopy,
        .ep_am_short              = uct_be_ep_am_short,
        .ep_am_short_iov          = uct_be_ep_am_short_iov,
        .ep_am_bcopy              = uct_be_ep_am_bcopy,
        .ep_am_zcopy              = uct_be_ep_am_zcopy,
        .ep_flush                 = uct_be_ep_flush,
        .ep_fence                 = uct_be_ep_fence,
        .ep_check                 = ep_check,
        .ep_pending_add           = uct_be_ep_pending_add,
        .ep_pending_purge         = uct_be_ep_pending_purge,
        .ep_create                = UCS_CLASS_NEW_FUNC_NAME(uct_be_ep_t),
        .ep_destroy               = UCS_CLASS_DELETE_FUNC_NAME(uct_be_ep_t),
        .iface_flush              = uct_be_iface_flush,
        .iface_fence              = uct_be_iface_fence,
        .iface_progress_enable    = uct_base_iface_progress_enable,
        .iface_progress_disable   = uct_base_iface_progress_disable,
        .iface_progress           = uct_be_iface_progress,
        .iface_event_fd_get       = uct_be_iface_event_fd_get,
        .iface_event_arm          = uct_be_iface_event_arm,
        .iface_close              = UCS_CLASS_DELETE_FUNC_NAME(uct_be_iface_t),
        .iface_query              = uct_be_iface_query,
        .iface_get_address        = uct_be_iface_get_address,
        .iface_get_device_address = uct_be_iface_get_device_address,
        .iface_is_reachable       = uct_be_iface_is_reachable};
