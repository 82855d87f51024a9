/* SPDX-License-Identifier: BSD-3-Clause */
#include "rcache.h"

#include <ucs/arch/atomic.h>
#include <ucs/datastruct/list.h>

#include <pthread.h>
#include <sys/mman.h>

/* Regions given up at once when registrations run out, so that the next one does not fail again. */
#define EVICT_AT_LEAST 16

struct uct_be_rcache {
    ucs_rcache_t *super;
    pthread_mutex_t lock; /* of the list */
    ucs_list_link_t
            regions; /* all that are registered; those released long ago are in front */
};

typedef struct {
    ucs_rcache_region_t super;
    uct_be_mem_t memh;
    ucs_list_link_t list;
} region_t;

static ucs_status_t region_register(void *context, ucs_rcache_t *rcache, void *arg,
                                    ucs_rcache_region_t *rcache_region, uint16_t flags)
{
    region_t *region      = ucs_derived_of(rcache_region, region_t);
    uct_be_md_t *md       = context;
    const int *quiet      = arg;
    ucs_pgt_region_t *pgt = &region->super.super;
    ucs_status_t status;

    status = uct_be_mem_register(md, (void *)pgt->start, pgt->end - pgt->start,
                                 *quiet || (flags & UCS_RCACHE_MEM_REG_HIDE_ERRORS),
                                 &region->memh);
    if (status == UCS_OK) {
        pthread_mutex_lock(&md->rcache->lock);
        ucs_list_add_tail(&md->rcache->regions, &region->list);
        pthread_mutex_unlock(&md->rcache->lock);
    }
    return status;
}

static void
region_deregister(void *context, ucs_rcache_t *rcache, ucs_rcache_region_t *rcache_region)
{
    region_t *region = ucs_derived_of(rcache_region, region_t);
    uct_be_md_t *md  = context;

    pthread_mutex_lock(&md->rcache->lock);
    ucs_list_del(&region->list);
    pthread_mutex_unlock(&md->rcache->lock);
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
    ucs_status_t status;

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

    md->rcache = ucs_malloc(sizeof(*md->rcache), "be_rcache");
    if (md->rcache == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pthread_mutex_init(&md->rcache->lock, NULL);
    ucs_list_head_init(&md->rcache->regions);
    status = ucs_rcache_create(&params, md->first_port->device, UCS_STATS_RVAL(NULL),
                               &md->rcache->super);
    if (status != UCS_OK) {
        pthread_mutex_destroy(&md->rcache->lock);
        ucs_free(md->rcache);
        md->rcache = NULL;
    }
    return status;
}

void uct_be_rcache_destroy(uct_be_md_t *md)
{
    ucs_rcache_destroy(md->rcache->super);
    pthread_mutex_destroy(&md->rcache->lock);
    ucs_free(md->rcache);
}

void uct_be_rcache_vfs_init(uct_be_md_t *md)
{
    ucs_vfs_obj_add_sym_link(&md->super, md->rcache->super, "rcache");
}

/* A reference to a region that is in the cache and nobody uses. Its end has to take the list's lock,
 * which is held: it is still there, but may be on its way out. */
static int hold_idle(region_t *region)
{
    return ucs_atomic_bool_cswap32(&region->super.refcount, 1, 2);
}

static void ignore_completion(void *arg)
{
}

/* Releases registrations that nobody uses, those unused for longest first, until `length` bytes are free.
 * Returns how many. */
static unsigned evict(uct_be_rcache_t *rcache, size_t length)
{
    unsigned count = 0;
    size_t bytes   = 0;
    region_t *region, *idle;

    do {
        idle = NULL;
        pthread_mutex_lock(&rcache->lock);
        ucs_list_for_each(region, &rcache->regions, list) {
            if (hold_idle(region)) {
                idle = region;
                break;
            }
        }
        pthread_mutex_unlock(&rcache->lock);

        if (idle != NULL) {
            bytes += idle->super.super.end - idle->super.super.start;
            ++count;
            ucs_rcache_region_invalidate(rcache->super, &idle->super, ignore_completion,
                                         NULL);
            ucs_rcache_region_put(rcache->super, &idle->super);
        }
    } while (idle != NULL && (bytes < length || count < EVICT_AT_LEAST));
    return count;
}

ucs_status_t uct_be_rcache_register(uct_be_md_t *md, void *address, size_t length,
                                    int quiet, uct_be_mem_t **memh_p)
{
    int try_quietly = 1;
    ucs_rcache_region_t *rcache_region;
    ucs_status_t status;

    status = uct_be_rcache_get(md->rcache->super, address, length, PROT_READ | PROT_WRITE,
                               &try_quietly, &rcache_region);
    while (status != UCS_OK) {
        /* The device or the system may have no more registrations, or no more memory to pin, because
         * of those that are only kept in case they are needed again. */
        const unsigned evicted = (status == UCS_ERR_NO_MEMORY) ?
                                         evict(md->rcache, length) :
                                         0;

        status = uct_be_rcache_get(md->rcache->super, address, length,
                                   PROT_READ | PROT_WRITE,
                                   evicted ? &try_quietly : &quiet, &rcache_region);
        if (!evicted) {
            break;
        }
    }

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
    uct_be_rcache_t *rcache = md->rcache;
    region_t *region        = ucs_container_of(memh, region_t, memh);

    pthread_mutex_lock(&rcache->lock);
    ucs_list_del(&region->list);
    ucs_list_add_tail(&rcache->regions, &region->list);
    pthread_mutex_unlock(&rcache->lock);

    if (invalidated != NULL) {
        ucs_rcache_region_invalidate(rcache->super, &region->super, complete_invalidation,
                                     invalidated);
    }
    ucs_rcache_region_put(rcache->super, &region->super);
}

double uct_be_rcache_overhead(void)
{
    return 180e-9; /* as UCX assumes for its own transports */
}
