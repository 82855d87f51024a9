/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory domain: one verbs device and its protection domain. */
#ifndef UCX_BE_MD_H
#define UCX_BE_MD_H

#include "compat.h"
#include "options.h"

#include <engine/c_api.h>

/* What a uct_mem_h of this transport points to. */
typedef struct uct_be_mem {
    be_mem_t mem;
    unsigned access; /* BE_ACCESS_xx: less than all for memory that is mapped read-only; or UCT_BE_ACCESS_COPY */
} uct_be_mem_t;

/* The device could not register it: what active messages send of it is copied, and nothing else can be done. */
#define UCT_BE_ACCESS_COPY UCS_BIT(16)

typedef struct uct_be_rcache uct_be_rcache_t;

typedef struct uct_be_md {
    uct_md_t super;
    be_md_t *engine_md;
    const uct_be_devices_t *devices;
    const be_port_info_t *first_port; /* names the device */
    uct_be_resource_name_t resource_name;
    uct_be_rcache_t *rcache; /* NULL: registrations are not cached */
    uint32_t said_copied; /* once: that memory could not be registered */
} uct_be_md_t;

ucs_status_t uct_be_md_open(uct_component_t *component, const char *md_name,
                            const uct_md_config_t *config, uct_md_h *md_p);

void uct_be_md_vfs_init(uct_md_h md);

/* The usable ports of the device, for uct_tl_t::query_devices. */
ucs_status_t uct_be_md_query_ports(uct_md_h md, uct_tl_device_resource_t **resources_p,
                                   unsigned *num_resources_p);

/* NULL: the md has no port of that name. */
const be_port_info_t *uct_be_md_find_port(uct_be_md_t *md, const char *resource_name);

/* Registers with the device: with all rights, or read-only if the memory is. `quiet`: a failure is
 * not logged as an error. */
ucs_status_t uct_be_mem_register(uct_be_md_t *md, void *address, size_t length, int quiet,
                                 uct_be_mem_t *memh);

#endif
