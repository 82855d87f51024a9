/* SPDX-License-Identifier: BSD-3-Clause */
#include "md.h"
#include "rcache.h"
#include "rkey.h"
#include "status.h"

#include <ucs/arch/atomic.h>

#include <sys/mman.h>

#include <errno.h>

/* Kernel 5.14; not in every C library's headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Cost of a registration when it is not cached: what UCX assumes for verbs devices, seconds and
 * seconds per byte. */
#define REG_OVERHEAD 16e-6
#define REG_GROWTH   0.06e-9

static ucs_status_t uct_be_md_query(uct_md_h uct_md, uct_be_md_attr_t *attr)
{
    uct_be_md_t *md            = ucs_derived_of(uct_md, uct_be_md_t);
    ucs_linear_func_t reg_cost = (md->rcache != NULL) ?
                                         ucs_linear_func_make(uct_be_rcache_overhead(),
                                                              0) :
                                         ucs_linear_func_make(REG_OVERHEAD, REG_GROWTH);

    uct_be_md_attr_fill(attr,
                        UCT_MD_FLAG_REG | UCT_MD_FLAG_ALLOC | UCT_MD_FLAG_ADVISE |
                                UCT_MD_FLAG_NEED_MEMH | UCT_MD_FLAG_NEED_RKEY |
                                UCT_BE_MD_FLAG_INVALIDATE,
                        reg_cost, UCT_BE_RKEY_PACKED_SIZE);
    return UCS_OK;
}

ucs_status_t uct_be_mem_register(uct_be_md_t *md, void *address, size_t length, int quiet,
                                 uct_be_mem_t *memh)
{
    const unsigned read_write = BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT |
                                BE_ACCESS_REMOTE_GET;
    const unsigned read_only = BE_ACCESS_REMOTE_GET;
    be_status_t status;

    memh->access = read_write;
    status = be_mem_register(md->engine_md, address, length, read_write, 1, &memh->mem);
    if (status != BE_OK) {
        /* Constant data and files mapped read-only can still be sent. */
        memh->access = read_only;
        status       = be_mem_register(md->engine_md, address, length, read_only, quiet,
                                       &memh->mem);
    }
    return uct_be_status(status);
}

/* UCP registers buffers of messages that it sends in pieces like this. It takes no failure there: releases as old as 1.13
 * abort. What it registers for its peers, or can do without, it registers with other flags. */
static int may_be_copied(uint64_t flags)
{
    return !(flags & (UCT_MD_MEM_FLAG_HIDE_ERRORS | UCT_MD_MEM_ACCESS_REMOTE_ATOMIC));
}

static uct_be_mem_t *new_copied(uct_be_md_t *md, void *address, size_t length)
{
    uct_be_mem_t *memh = ucs_calloc(1, sizeof(*memh), "be_memh");

    if (memh != NULL) {
        memh->mem.address = address;
        memh->mem.length  = length;
        memh->access      = UCT_BE_ACCESS_COPY;
        if (ucs_atomic_bool_cswap32(&md->said_copied, 0, 1)) {
            ucs_warn("be: %s: %zu bytes cannot be registered, no more memory may be "
                     "locked: "
                     "messages are copied, which costs speed (be_info --doctor says what "
                     "to change)",
                     md->first_port->device, length);
        }
    }
    return memh;
}

static ucs_status_t uct_be_md_mem_reg(uct_md_h uct_md, void *address, size_t length,
                                      UCT_BE_REG_ARG, uct_mem_h *memh_p)
{
    uct_be_md_t *md    = ucs_derived_of(uct_md, uct_be_md_t);
    int copy           = may_be_copied(UCT_BE_REG_FLAGS);
    int quiet          = copy || (UCT_BE_REG_FLAGS & UCT_MD_MEM_FLAG_HIDE_ERRORS);
    uct_be_mem_t *memh = NULL;
    ucs_status_t status;

    if (md->rcache != NULL) {
        status = uct_be_rcache_register(md, address, length, quiet, &memh);
    } else {
        memh = ucs_malloc(sizeof(*memh), "be_memh");
        if (memh == NULL) {
            return UCS_ERR_NO_MEMORY;
        }

        status = uct_be_mem_register(md, address, length, quiet, memh);
        if (status != UCS_OK) {
            ucs_free(memh);
        }
    }

    if (status == UCS_ERR_NO_MEMORY && copy) {
        memh   = new_copied(md, address, length);
        status = (memh != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
    }
    if (status == UCS_OK) {
        *memh_p = memh;
    }
    return status;
}

static ucs_status_t
uct_be_md_mem_dereg(uct_md_h uct_md, const uct_md_mem_dereg_params_t *params)
{
    uct_be_md_t *md               = ucs_derived_of(uct_md, uct_be_md_t);
    uct_completion_t *invalidated = NULL;
    ucs_status_t status           = UCS_OK;
    uct_be_mem_t *memh;

    UCT_MD_MEM_DEREG_CHECK_PARAMS(params, 1);
    memh = params->memh;
    if (UCT_MD_MEM_DEREG_FIELD_VALUE(params, flags, FIELD_FLAGS, 0) &
        UCT_MD_MEM_DEREG_FLAG_INVALIDATE) {
        invalidated = params->comp;
    }

    if (md->rcache != NULL && memh->access != UCT_BE_ACCESS_COPY) {
        uct_be_rcache_release(md, memh, invalidated);
        return UCS_OK;
    }

    if (memh->access != UCT_BE_ACCESS_COPY) {
        status = uct_be_status(be_mem_deregister(md->engine_md, &memh->mem));
    }
    ucs_free(memh);
    if (invalidated != NULL) {
        uct_invoke_completion(invalidated, status);
    }
    return status;
}

static ucs_status_t uct_be_md_mem_alloc(uct_md_h uct_md, size_t *length_p,
                                        void **address_p, ucs_memory_type_t mem_type,
                                        UCT_BE_MEM_ALLOC_DEVICE_ARG unsigned flags,
                                        const char *alloc_name, uct_mem_h *memh_p)
{
    uct_be_md_t *md = ucs_derived_of(uct_md, uct_be_md_t);
    uct_be_mem_t *memh;
    be_status_t status;

    if ((mem_type != UCS_MEMORY_TYPE_HOST) || (flags & UCT_MD_MEM_FLAG_FIXED)) {
        return UCS_ERR_UNSUPPORTED;
    }

    memh = ucs_malloc(sizeof(*memh), "be_memh");
    if (memh == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memh->access = BE_ACCESS_LOCAL | BE_ACCESS_REMOTE_PUT | BE_ACCESS_REMOTE_GET;
    status       = be_mem_alloc(md->engine_md, *length_p, &memh->mem);
    if (status != BE_OK) {
        ucs_free(memh);
        return uct_be_error(status);
    }

    *length_p  = memh->mem.length;
    *address_p = memh->mem.address;
    *memh_p    = memh;
    return UCS_OK;
}

static ucs_status_t uct_be_md_mem_free(uct_md_h uct_md, uct_mem_h uct_memh)
{
    uct_be_mem_t *memh = uct_memh;

    be_mem_free(ucs_derived_of(uct_md, uct_be_md_t)->engine_md, &memh->mem);
    ucs_free(memh);
    return UCS_OK;
}

static ucs_status_t
uct_be_md_mkey_pack(uct_md_h uct_md, uct_mem_h uct_memh,
                    UCT_BE_MKEY_PACK_RANGE_ARG const uct_md_mkey_pack_params_t *params,
                    void *buffer)
{
    const uct_be_mem_t *memh = uct_memh;

    if (!uct_be_mkey_pack_supported(params)) {
        return UCS_ERR_UNSUPPORTED;
    }

    /* No rights: the peer does without. */
    uct_be_rkey_pack(&memh->mem, memh->access & ~UCT_BE_ACCESS_COPY, buffer);
    return UCS_OK;
}

/* Memory that is registered is there, as a rule: devices pin it. But the software device cannot keep the
 * system from swapping it out, or the application from throwing pages away. (Memory registered on demand,
 * which this transport does not do, would be prefetched here with ibv_advise_mr.) */
static ucs_status_t uct_be_md_mem_advise(uct_md_h uct_md, uct_mem_h uct_memh,
                                         void *address, size_t length, unsigned advice)
{
    const uct_be_mem_t *memh = uct_memh;
    const uintptr_t first    = (uintptr_t)memh->mem.address;
    const uintptr_t begin    = (uintptr_t)address;
    const uintptr_t page     = ucs_align_down_pow2(begin, ucs_get_page_size());

    if (begin < first || length > memh->mem.length ||
        begin - first > memh->mem.length - length) {
        ucs_error("be: advice for %zu bytes at %p, of which not all are in the %zu "
                  "registered ones at %p",
                  length, address, memh->mem.length, memh->mem.address);
        return UCS_ERR_INVALID_PARAM;
    }

    /* Kernels before 5.14 do not know it: advice may be ignored. */
    if (advice == UCT_MADV_WILLNEED &&
        madvise((void *)page, begin + length - page,
                (memh->access & BE_ACCESS_LOCAL) ? MADV_POPULATE_WRITE :
                                                   MADV_POPULATE_READ) != 0 &&
        errno != EINVAL) {
        ucs_error("be: %zu bytes at %p cannot be brought into memory: %m", length,
                  address);
        return UCS_ERR_NO_MEMORY;
    }
    return UCS_OK;
}

ucs_status_t uct_be_md_query_ports(uct_md_h uct_md,
                                   uct_tl_device_resource_t **resources_p,
                                   unsigned *num_resources_p)
{
    uct_be_md_t *md = ucs_derived_of(uct_md, uct_be_md_t);
    uct_tl_device_resource_t *resources;
    const be_port_info_t *port;
    unsigned i, count;

    resources = ucs_calloc(md->devices->num_ports, sizeof(*resources), "be_resources");
    if (resources == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    for (i = 0, count = 0; i < md->devices->num_ports; ++i) {
        port = &md->devices->ports[i];
        if (port->usable && !strcmp(port->device, md->first_port->device)) {
            uct_be_devices_resource_name(port, md->resource_name, resources[count].name);
            resources[count].type       = UCT_DEVICE_TYPE_NET;
            resources[count].sys_device = UCS_SYS_DEVICE_ID_UNKNOWN;
            ++count;
        }
    }

    *resources_p     = resources;
    *num_resources_p = count;
    return UCS_OK;
}

const be_port_info_t *uct_be_md_find_port(uct_be_md_t *md, const char *resource_name)
{
    char name[UCT_DEVICE_NAME_MAX];
    const be_port_info_t *port;
    unsigned i;

    for (i = 0; i < md->devices->num_ports; ++i) {
        port = &md->devices->ports[i];
        if (port->usable && !strcmp(port->device, md->first_port->device)) {
            uct_be_devices_resource_name(port, md->resource_name, name);
            if (!strcmp(name, resource_name)) {
                return port;
            }
        }
    }

    return NULL;
}

void uct_be_md_vfs_init(uct_md_h uct_md)
{
    uct_be_md_t *md = ucs_derived_of(uct_md, uct_be_md_t);

    if (md->rcache != NULL) {
        uct_be_rcache_vfs_init(md);
    }
}

static void uct_be_md_close(uct_md_h uct_md)
{
    uct_be_md_t *md = ucs_derived_of(uct_md, uct_be_md_t);

    if (md->rcache != NULL) {
        uct_be_rcache_destroy(md);
    }
    be_md_close(md->engine_md);
    ucs_free(md);
}

static uct_md_ops_t uct_be_md_ops = {
        .close      = uct_be_md_close,
        .query      = uct_be_md_query,
        .mem_alloc  = uct_be_md_mem_alloc,
        .mem_free   = uct_be_md_mem_free,
        .mem_reg    = uct_be_md_mem_reg,
        .mem_dereg  = uct_be_md_mem_dereg,
        .mkey_pack  = uct_be_md_mkey_pack,
        .mem_advise = uct_be_md_mem_advise,
        /* UCP asks these of domains that tell kinds of memory apart (detect_mem_types): ones of GPUs.
         * With device memory come both. */
        .mem_query = (uct_md_mem_query_func_t)ucs_empty_function_return_unsupported,
        .detect_memory_type = (uct_md_detect_memory_type_func_t)
                ucs_empty_function_return_unsupported,
        UCT_BE_MD_OPS_OF_RELEASE};

ucs_status_t uct_be_md_open(uct_component_t *component, const char *md_name,
                            const uct_md_config_t *uct_config, uct_md_h *md_p)
{
    const uct_be_md_config_t *config = ucs_derived_of(uct_config, uct_be_md_config_t);
    const uct_be_devices_t *devices  = uct_be_devices_get(config->soft);
    const be_port_info_t *port;
    ucs_status_t status;
    uct_be_md_t *md;

    if (devices == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    port = uct_be_devices_find_md(devices, md_name);
    if (port == NULL) {
        ucs_error("be: no memory domain is called '%s'%s%s", md_name,
                  (devices->why[0] != '\0') ? ": " : "", devices->why);
        return UCS_ERR_NO_DEVICE;
    }

    md = ucs_calloc(1, sizeof(*md), "be_md");
    if (md == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    md->super.ops       = &uct_be_md_ops;
    md->super.component = component;
    md->devices         = devices;
    md->first_port      = port;
    md->resource_name   = config->resource_name;
    status = uct_be_status(be_md_open(port->device, config->soft, &md->engine_md));
    if (status != UCS_OK) {
        goto err_free;
    }

    if (config->reg == UCT_BE_REG_RCACHE) {
        status = uct_be_rcache_create(md, config);
        if (status != UCS_OK) {
            ucs_warn("be: %s: no registration cache (%s): every large message will "
                     "register "
                     "its memory",
                     port->device, ucs_status_string(status));
            md->rcache = NULL;
        }
    }

    *md_p = &md->super;
    return UCS_OK;

err_free:
    ucs_free(md);
    return status;
}
