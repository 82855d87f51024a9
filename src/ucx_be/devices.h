/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What devices there are, found once per process and mode, and how they are named in UCX.
 *
 * The list is built without a lock and published by one atomic exchange, so a child of fork finds
 * either none or a complete one; it is never freed.
 */
#ifndef UCX_BE_DEVICES_H
#define UCX_BE_DEVICES_H

#include "compat.h"

#include <engine/c_api.h>

enum {
    UCT_BE_WHY_MAX = 256
};

/* How a port is called in UCX_NET_DEVICES and UCX's connection managers. */
typedef enum {
    UCT_BE_RESOURCE_NETDEV, /* "eth2", or as below when the port has no network interface */
    UCT_BE_RESOURCE_PORT, /* "mlx5_0:1" */
    UCT_BE_RESOURCE_LAST
} uct_be_resource_name_t;

typedef struct uct_be_devices {
    const be_port_info_t *ports;
    unsigned num_ports;
    char why[UCT_BE_WHY_MAX]; /* why no port is usable; "" if one is */
} uct_be_devices_t;

/* NULL only when memory is short. */
const uct_be_devices_t *uct_be_devices_get(be_soft_mode_t mode);

/* Index of the first usable port of each device with one, in turn: start with *port_p = 0; 0 at
 * the end. */
int uct_be_devices_next(const uct_be_devices_t *devices, unsigned *port_p,
                        const be_port_info_t **first_port_p);

/* Memory domains are named "be_<device>"; a name too long for UCX is cut and numbered. */
void uct_be_devices_md_name(const uct_be_devices_t *devices, const be_port_info_t *port,
                            char name[UCT_MD_NAME_MAX]);

/* NULL: no memory domain has that name. */
const be_port_info_t *
uct_be_devices_find_md(const uct_be_devices_t *devices, const char *md_name);

void uct_be_devices_resource_name(const be_port_info_t *port,
                                  uct_be_resource_name_t style,
                                  char name[UCT_DEVICE_NAME_MAX]);

#endif
