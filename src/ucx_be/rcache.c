/* SPDX-License-Identifier: BSD-3-Clause */
#include "rcache.h"

#include <sys/mman.h>

typedef struct {
    ucs_rcache_region_t super;
    uct_be_mem_t memh;
} region_t;

static ucs_status_t region_register(void *context, ucs_rcache_t *rcache, void *arg,
                                    ucs_rcache_region_t *rcache_region, uint16_t flags)
{
    region_t *region      = ucs_derived_of(rcache_region, region_t);
    const int *quiet      = arg;
    ucs_pgt_region_t *pgt = &region->super.super;

    return uct_be_mem_register(context, (void *)pgt->start, pgt->end - pgt->start,
                               *quiet || (flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS),
                               &region->memh);
}

static void
region_deregister(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *rcache_region)
{
    region_t *region = ucs_derived_of(rcache_region, region_t);
    uct_be_md_t *md  = context;

    (void)be_mem_deregister(md->engine_md, &region->memh.mem);
}

static void region_dump(void *context, ucs_rcache_t *rcache,
                        ucs_rcache_region_t *rcache_region, char *buffer, size_t max)
{
    region_t *region = ucs_derived_of(rcache_region, region_t);

    snprintf(buffer, max, "lkey 0x%x rkey 0x%x access 0x%x", region->memh.mem.lkey,
             region->memh.mem.rkey, region->memh.access);
}

ucs_status_t uct_be_rcache_create(uct_be_md_t *md, const uct_be_md_config_t *config)
{
    static const ucs_rcache_ops_t ops = {.mem_reg     = region_register,
                                         .mem_dereg   = region_deregister,
                                         .dump_region = region_dump,
                                         UCT_BE_RCACHE_OPS_OF_RELEASE};
    ucs_rcache_params_t params;

    uct_be_rcache_params_init(&params);
    params.region_struct_size = sizeof(region_t);
    params.ucm_events         = UCM_EVENT_VM_UNMAPPED;
    params.ucm_event_priority = config->rcache.event_priority;
    params.ops                = &ops;
    params.context            = md;
    params.max_regions        = config->rcache.max_regions;
    params.max_size           = config->rcache.max_size;
    params.max_unreleased     = config->rcache.max_unreleased;
    params.flags = config->rcache.purge_on_fork ? UCS_RCACHE_FLAG_PURGE_ON_FORK : 0;

    return ucs_rcache_create(&params, md->first_port->device, UCS_STATS_RVAL(NULL),
                             &md->rcache);
}

void uct_be_rcache_destroy(uct_be_md_t *md)
{
    ucs_rcache_destroy(md->rcache);
}

ucs_status_t uct_be_rcache_register(uct_be_md_t *md, void *address, size_t length,
                                    int quiet, uct_be_mem_t **memh_p)
{
    ucs_rcache_region_t *rcache_region;
    ucs_status_t status;

    status = uct_be_rcache_get(md->rcache, address, length, PROT_READ | PROT_WRITE,
                               &quiet, &rcache_region);
    if (status == UCS_OK) {
        *memh_p = &ucs_derived_of(rcache_region, region_t)->memh;
    }
    return status;
}

static void complete_invalidation(void *arg)
{
    uct_invoke_completion(arg, UCS_OK);
}

void uct_be_rcache_release(uct_be_md_t *md, uct_be_mem_t *memh,
                           uct_completion_t *invalidated)
{
    region_t *region = ucs_container_of(memh, region_t, memh);

    if (invalidated != NULL) {
        ucs_rcache_region_invalidate(md->rcache, &region->super, complete_invalidation,
                                     invalidated);
    }
    ucs_rcache_region_put(md->rcache, &region->super);
}

double uct_be_rcache_overhead(void)
{
    return 180e-9; /* as UCX assumes for its own transports */
}
