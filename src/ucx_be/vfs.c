/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in UCX's virtual file system: one for each of the engine's metrics, under the interface
 * for the fabric and under each endpoint for its peer. They are read by another thread; the worker's
 * lock, where it has one, keeps the data path away meanwhile.
 */
#include "ep.h"

typedef struct {
    void *object; /* directory that the files go to */
    ucs_vfs_file_read_cb_t read;
    uint64_t index;
} add_files_t;

typedef struct {
    uint64_t countdown; /* metrics before the wanted one */
    ucs_string_buffer_t *text;
} show_metric_t;

static void show_metric(void *arg, const be_metric_t *metric)
{
    show_metric_t *show = arg;

    if (show->countdown-- == 0) {
        ucs_string_buffer_appendf(show->text, "%" PRIu64 "\n", metric->value);
    }
}

static void
read_fabric_metric(void *object, ucs_string_buffer_t *text, void *arg_ptr, uint64_t index)
{
    uct_be_iface_t *iface = arg_ptr;
    show_metric_t show    = {index, text};

    UCS_ASYNC_BLOCK(iface->super.worker->async);
    be_fabric_metrics(iface->fabric, show_metric, &show);
    UCS_ASYNC_UNBLOCK(iface->super.worker->async);
}

static void
read_peer_metric(void *object, ucs_string_buffer_t *text, void *arg_ptr, uint64_t index)
{
    uct_be_ep_t *ep       = arg_ptr;
    uct_be_iface_t *iface = uct_be_ep_iface(ep);
    show_metric_t show    = {index, text};

    UCS_ASYNC_BLOCK(iface->super.worker->async);
    be_peer_metrics(ep->peer, show_metric, &show);
    UCS_ASYNC_UNBLOCK(iface->super.worker->async);
}

static void
read_peer_name(void *object, ucs_string_buffer_t *text, void *arg_ptr, uint64_t arg)
{
    uct_be_ep_t *ep = arg_ptr;

    ucs_string_buffer_appendf(text, "%s\n", be_peer_name(ep->peer));
}

static void
read_peer_path(void *object, ucs_string_buffer_t *text, void *arg_ptr, uint64_t arg)
{
    uct_be_ep_t *ep       = arg_ptr;
    uct_be_iface_t *iface = uct_be_ep_iface(ep);
    char lines[1024];

    UCS_ASYNC_BLOCK(iface->super.worker->async);
    be_peer_path(ep->peer, lines, sizeof(lines));
    UCS_ASYNC_UNBLOCK(iface->super.worker->async);
    ucs_string_buffer_appendf(text, "%s", lines);
}

static void add_file(void *arg, const be_metric_t *metric)
{
    add_files_t *add = arg;

    ucs_vfs_obj_add_ro_file(add->object, add->read, add->object, add->index++, "%s",
                            metric->name);
}

void uct_be_ep_vfs_populate(uct_be_ep_t *ep)
{
    uct_be_iface_t *iface = uct_be_ep_iface(ep);
    add_files_t add       = {.object = ep, .read = read_peer_metric};

    ucs_vfs_obj_add_dir(iface, ep, "ep/%p", ep);
    ucs_vfs_obj_add_ro_file(ep, read_peer_name, ep, 0, "peer");
    ucs_vfs_obj_add_ro_file(ep, read_peer_path, ep, 0, "path");
    be_peer_metrics(ep->peer, add_file, &add);
}

void uct_be_iface_vfs_refresh(uct_iface_h tl_iface)
{
    uct_be_iface_t *iface = ucs_derived_of(tl_iface, uct_be_iface_t);
    add_files_t add       = {.object = iface, .read = read_fabric_metric};
    uct_be_ep_t *ep;

    UCS_ASYNC_BLOCK(iface->super.worker->async);
    be_fabric_metrics(iface->fabric, add_file, &add);
    ucs_list_for_each(ep, &iface->eps, iface_link) {
        uct_be_ep_vfs_populate(ep);
    }
    UCS_ASYNC_UNBLOCK(iface->super.worker->async);
}
