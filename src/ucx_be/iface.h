/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface: a UCT worker's fabric (the engine's view of one port), its endpoints, and the work
 * that the engine does not know of: pending requests and failures still to be reported.
 *
 * All functions are called by one thread at a time, as UCT prescribes; the vfs functions, which
 * another thread calls, only read.
 */
#ifndef UCX_BE_IFACE_H
#define UCX_BE_IFACE_H

#include "compat.h"
#include "options.h"

#include <engine/c_api.h>

typedef struct uct_be_ep uct_be_ep_t;

typedef struct uct_be_iface {
    uct_base_iface_t super;
    be_fabric_t *fabric;
    be_stats_t *stats; /* NULL: there is no file of statistics */
    be_fabric_attr_t attr;
    be_port_info_t port;
    size_t rx_headroom; /* bytes of the user in front of a payload */
    uct_recv_desc_t release_desc; /* how kept payloads come back */
    ucs_list_link_t eps; /* all endpoints */
    ucs_list_link_t pending_eps; /* those with pending requests, in turn */
    ucs_list_link_t *next_turn; /* of pending_eps, while they take turns */
    ucs_list_link_t failed_eps; /* those whose failure is to be reported */
    ucs_mpool_t ops; /* uct_be_op_t */
    uint64_t round; /* calls of progress */
    /* The endpoint whose request or completion runs right now; NULL when that destroyed it. */
    uct_be_ep_t *active_ep;
} uct_be_iface_t;

UCS_CLASS_DECLARE(uct_be_iface_t, uct_md_h, uct_worker_h, const uct_iface_params_t *,
                  const uct_iface_config_t *);
UCS_CLASS_DECLARE_NEW_FUNC(uct_be_iface_t, uct_iface_t, uct_md_h, uct_worker_h,
                           const uct_iface_params_t *, const uct_iface_config_t *);

extern uct_iface_ops_t uct_be_iface_ops;
extern uct_iface_internal_ops_t uct_be_iface_internal_ops;

/* ------------------------------------------------------------- iface_query.c */
ucs_status_t uct_be_iface_query(uct_iface_h iface, uct_iface_attr_t *attr);
ucs_status_t uct_be_iface_get_address(uct_iface_h iface, uct_iface_addr_t *addr);
ucs_status_t uct_be_iface_get_device_address(uct_iface_h iface, uct_device_addr_t *addr);
int uct_be_iface_is_reachable(const uct_iface_h iface, const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr);
#ifdef UCT_BE_REACHABLE_V2
int uct_be_iface_is_reachable_v2(const uct_iface_h iface,
                                 const uct_iface_is_reachable_params_t *params);
#endif

/* ---------------------------------------------------------------- progress.c */
unsigned uct_be_iface_progress(uct_iface_h iface);
ucs_status_t uct_be_iface_event_fd_get(uct_iface_h iface, int *fd_p);
ucs_status_t uct_be_iface_event_arm(uct_iface_h iface, unsigned events);

/* ---------------------------------------------------------------------- rx.c */
be_rx_result_t
uct_be_iface_handle_am(void *arg, uint8_t am_id, void *data, size_t length, int keep);
void uct_be_iface_release_desc(uct_recv_desc_t *self, void *desc);

/* Bytes in front of a payload that UCT itself needs: where the release callback is found. */
enum {
    UCT_BE_RX_PRIVATE_HEADROOM = sizeof(uct_recv_desc_t *)
};

/* ------------------------------------------------------------------- flush.c */
ucs_status_t
uct_be_iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t *comp);
ucs_status_t uct_be_iface_fence(uct_iface_h iface, unsigned flags);

/* --------------------------------------------------------------------- vfs.c */
void uct_be_iface_vfs_refresh(uct_iface_h iface);

#endif
