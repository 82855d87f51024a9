/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only place that knows UCX releases: includes UCX's internal headers and hides what differs
 * from 1.13 to 1.23. The BE_ macros come from the probes in m4/ucx_probes.m4.
 *
 * A plugin built for one release must still load in another far enough to refuse politely
 * (guard.h), so symbols that some supported release lacks are weak here.
 */
#ifndef UCX_BE_COMPAT_H
#define UCX_BE_COMPAT_H

/* UCX's config.h: the options of the installed library, which shape its structures. Both config
 * headers name their own package, which nobody here needs. */
#include <config.h>
#undef PACKAGE
#undef PACKAGE_BUGREPORT
#undef PACKAGE_NAME
#undef PACKAGE_STRING
#undef PACKAGE_TARNAME
#undef PACKAGE_URL
#undef PACKAGE_VERSION
#undef VERSION
#undef LT_OBJDIR
#include <be_config.h>

#include <uct/api/version.h>
#include <uct/api/v2/uct_v2.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_iov.inl>
#include <uct/base/uct_md.h>
#include <uct/base/uct_worker.h>
#include <ucm/api/ucm.h>
#include <ucs/async/async.h>
#include <ucs/config/parser.h>
#include <ucs/debug/memtrack_int.h>
#include <ucs/memory/rcache.h>
#include <ucs/sys/string.h>
#include <ucs/sys/sys.h>
#include <ucs/time/time.h>
#include <ucs/vfs/base/vfs_obj.h>

#ifdef BE_CONFIG_HAS_DOC
#pragma weak ucs_config_doc_nop
#endif
#ifdef BE_MPOOL_HAS_PARAMS
#pragma weak ucs_mpool_params_reset
#endif

/* ------------------------------------------------------------------- md operations */
#ifdef BE_MEM_ALLOC_HAS_SYS_DEV
#define UCT_BE_MEM_ALLOC_DEVICE_ARG ucs_sys_device_t sys_dev,
#else
#define UCT_BE_MEM_ALLOC_DEVICE_ARG
#endif

/* UCT_BE_REG_FLAGS: the uct_md_mem_flags of a function declared with UCT_BE_REG_ARG. */
#ifdef BE_MEM_REG_HAS_PARAMS
#define UCT_BE_REG_ARG const uct_md_mem_reg_params_t *reg_params
#define UCT_BE_REG_FLAGS \
    ((reg_params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) ? reg_params->flags : 0)
#else
#define UCT_BE_REG_ARG   unsigned reg_flags
#define UCT_BE_REG_FLAGS ((uint64_t)reg_flags)
#endif

#ifdef BE_MKEY_PACK_HAS_ADDRESS
#define UCT_BE_MKEY_PACK_RANGE_ARG void *address, size_t length,
#else
#define UCT_BE_MKEY_PACK_RANGE_ARG
#endif

/* A key for another process's memory domain is not supported. */
static inline int uct_be_mkey_pack_supported(const uct_md_mkey_pack_params_t *params)
{
#ifdef BE_MKEY_PACK_HAS_EXPORT
    return !((params->field_mask & UCT_MD_MKEY_PACK_FIELD_FLAGS) &&
             (params->flags & UCT_MD_MKEY_PACK_FLAG_EXPORT));
#else
    return 1;
#endif
}

#ifdef BE_MD_HAS_INVALIDATE_RMA
#define UCT_BE_MD_FLAG_INVALIDATE UCT_MD_FLAG_INVALIDATE_RMA
#else
#define UCT_BE_MD_FLAG_INVALIDATE UCT_MD_FLAG_INVALIDATE
#endif

#ifdef BE_RKEY_UNPACK_HAS_PARAMS
#define UCT_BE_RKEY_UNPACK_PARAMS_ARG , const uct_rkey_unpack_params_t *unpack_params
#else
#define UCT_BE_RKEY_UNPACK_PARAMS_ARG
#endif

#ifdef BE_MD_HAS_MEM_ATTACH
#define UCT_BE_MD_OP_MEM_ATTACH \
    .mem_attach = (uct_md_mem_attach_func_t)ucs_empty_function_return_unsupported,
#else
#define UCT_BE_MD_OP_MEM_ATTACH
#endif

#ifdef BE_MD_HAS_MEM_ELEM
#define UCT_BE_MD_OP_MEM_ELEM \
    .mem_elem_pack = (uct_md_mem_elem_pack_func_t)ucs_empty_function_return_unsupported,
#else
#define UCT_BE_MD_OP_MEM_ELEM
#endif

#ifdef BE_MD_HAS_SOCKADDR
#define UCT_BE_MD_OP_SOCKADDR                                        \
    .is_sockaddr_accessible = (uct_md_is_sockaddr_accessible_func_t) \
            ucs_empty_function_return_zero_int,
#else
#define UCT_BE_MD_OP_SOCKADDR
#endif

/* Members of uct_md_ops_t that only some releases have; none of them is supported. */
#define UCT_BE_MD_OPS_OF_RELEASE \
    UCT_BE_MD_OP_MEM_ATTACH UCT_BE_MD_OP_MEM_ELEM UCT_BE_MD_OP_SOCKADDR

#ifdef BE_MD_QUERY_V2
typedef uct_md_attr_v2_t uct_be_md_attr_t;
#define UCT_BE_MD_ATTR(_attr, _field) ((_attr)->_field)
#else
typedef uct_md_attr_t uct_be_md_attr_t;
#define UCT_BE_MD_ATTR(_attr, _field) ((_attr)->cap._field)
#endif

/* From 1.14 on UCP caches registrations itself, before they come to the md. */
#ifdef BE_MD_QUERY_V2
#define UCT_BE_REG_DEFAULT "direct"
#else
#define UCT_BE_REG_DEFAULT "rcache"
#endif

/* An md that registers and allocates host memory. */
static inline void uct_be_md_attr_fill(uct_be_md_attr_t *attr, uint64_t flags,
                                       ucs_linear_func_t reg_cost,
                                       size_t rkey_packed_size)
{
#ifdef BE_MD_QUERY_V2
    uint64_t field_mask = attr->field_mask; /* the caller's */

    memset(attr, 0, sizeof(*attr));
    attr->field_mask = field_mask;
#else
    memset(attr, 0, sizeof(*attr));
#endif
    UCT_BE_MD_ATTR(attr, flags)            = flags;
    UCT_BE_MD_ATTR(attr, max_reg)          = ULONG_MAX;
    UCT_BE_MD_ATTR(attr, max_alloc)        = ULONG_MAX;
    UCT_BE_MD_ATTR(attr, reg_mem_types)    = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    UCT_BE_MD_ATTR(attr, alloc_mem_types)  = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    UCT_BE_MD_ATTR(attr, access_mem_types) = UCS_BIT(UCS_MEMORY_TYPE_HOST);
#ifdef BE_MD_QUERY_V2
    attr->cache_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
#endif
#ifdef BE_MD_ATTR_HAS_REG_ALIGNMENT
    attr->reg_alignment = 1;
#endif
    attr->reg_cost         = reg_cost;
    attr->rkey_packed_size = rkey_packed_size;
    memset(&attr->local_cpus, 0xff, sizeof(attr->local_cpus));
}

/* ----------------------------------------------------------------------- component */
#ifdef BE_COMPONENT_HAS_RKEY_COMPARE
static inline ucs_status_t
uct_be_rkey_compare(uct_component_t *component, uct_rkey_t rkey1, uct_rkey_t rkey2,
                    const uct_rkey_compare_params_t *params, int *result)
{
    *result = (rkey1 > rkey2) - (rkey1 < rkey2);
    return UCS_OK;
}
#define UCT_BE_COMPONENT_OF_RELEASE .rkey_compare = uct_be_rkey_compare,
#else
#define UCT_BE_COMPONENT_OF_RELEASE
#endif

/* Reads the variables of a configuration table, as UCX does when it opens an md. */
static inline ucs_status_t uct_be_config_read(ucs_config_global_list_entry_t *entry,
                                              const char *env_prefix, void *options)
{
#ifdef BE_CONFIG_FILL_TAKES_ENTRY
    return ucs_config_parser_fill_opts(options, entry, env_prefix, 0);
#else
    return ucs_config_parser_fill_opts(options, entry->table, env_prefix, entry->prefix,
                                       0);
#endif
}

/* ----------------------------------------------------------------------- interface */
#ifdef UCT_IFACE_FLAG_INTER_NODE
#define UCT_BE_IFACE_FLAG_INTER_NODE UCT_IFACE_FLAG_INTER_NODE
#else
#define UCT_BE_IFACE_FLAG_INTER_NODE 0
#endif

#ifdef BE_KEEPALIVE_CHECK_1ARG
#define UCT_BE_EP_CHECK_PARAMS(_flags, _comp) UCT_EP_KEEPALIVE_CHECK_PARAM(_flags)
#else
#define UCT_BE_EP_CHECK_PARAMS(_flags, _comp) UCT_EP_KEEPALIVE_CHECK_PARAM(_flags, _comp)
#endif

#ifdef BE_INTERNAL_HAS_QUERY_V2
#pragma weak uct_iface_base_query_v2
#define UCT_BE_IFACE_OP_QUERY_V2 .iface_query_v2 = uct_iface_base_query_v2,
#else
#define UCT_BE_IFACE_OP_QUERY_V2
#endif

#ifdef BE_INTERNAL_HAS_MEM_ELEMENT_PACK
#define UCT_BE_IFACE_OP_MEM_ELEMENT_PACK                          \
    .iface_mem_element_pack = (uct_iface_mem_element_pack_func_t) \
            ucs_empty_function_return_unsupported,
#else
#define UCT_BE_IFACE_OP_MEM_ELEMENT_PACK
#endif

#ifdef BE_INTERNAL_HAS_CONNECT_TO_EP_V2
#define UCT_BE_IFACE_OP_CONNECT_TO_EP_V2                    \
    .ep_connect_to_ep_v2 = (uct_ep_connect_to_ep_v2_func_t) \
            ucs_empty_function_return_unsupported,
#else
#define UCT_BE_IFACE_OP_CONNECT_TO_EP_V2
#endif

#ifdef BE_INTERNAL_HAS_IS_CONNECTED
#pragma weak uct_base_ep_is_connected
#define UCT_BE_IFACE_OP_IS_CONNECTED .ep_is_connected = uct_base_ep_is_connected,
#else
#define UCT_BE_IFACE_OP_IS_CONNECTED
#endif

#ifdef BE_INTERNAL_HAS_DEVICE_EP
#define UCT_BE_IFACE_OP_DEVICE_EP                     \
    .ep_get_device_ep = (uct_ep_get_device_ep_func_t) \
            ucs_empty_function_return_unsupported,
#else
#define UCT_BE_IFACE_OP_DEVICE_EP
#endif

#ifdef BE_INTERNAL_HAS_OUTSTANDING_PURGE
#define UCT_BE_IFACE_OP_OUTSTANDING_PURGE                     \
    .ep_outstanding_purge = (uct_ep_outstanding_purge_func_t) \
            ucs_empty_function_return_unsupported,
#else
#define UCT_BE_IFACE_OP_OUTSTANDING_PURGE
#endif

/* From 1.15 on reachability is a question with named fields, and the answer has a reason. */
#ifdef BE_IS_REACHABLE_V2
static inline int uct_be_reachable_scope(const uct_iface_is_reachable_params_t *params,
                                         const void *local_address, size_t address_length)
{
    if (!(params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_SCOPE) ||
        (params->scope == UCT_IFACE_REACHABILITY_SCOPE_NETWORK)) {
        return 1;
    }

    return memcmp(params->device_addr, local_address, address_length) == 0;
}

static inline char *
uct_be_reachable_why(const uct_iface_is_reachable_params_t *params, size_t *size_p)
{
    *size_p = (params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH) ?
                      params->info_string_length :
                      0;
    return (params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING) ?
                   params->info_string :
                   NULL;
}
#define UCT_BE_REACHABLE_V2                    1
#define UCT_BE_IFACE_OP_IS_REACHABLE_V2(_func) .iface_is_reachable_v2 = (_func),
#else
#define UCT_BE_IFACE_OP_IS_REACHABLE_V2(_func)
#endif

/* Members of uct_iface_internal_ops_t that only some releases have. */
#define UCT_BE_IFACE_INTERNAL_OPS_OF_RELEASE(_is_reachable_v2)                  \
    UCT_BE_IFACE_OP_QUERY_V2 UCT_BE_IFACE_OP_MEM_ELEMENT_PACK                   \
            UCT_BE_IFACE_OP_CONNECT_TO_EP_V2 UCT_BE_IFACE_OP_IS_CONNECTED       \
                    UCT_BE_IFACE_OP_DEVICE_EP UCT_BE_IFACE_OP_OUTSTANDING_PURGE \
                    UCT_BE_IFACE_OP_IS_REACHABLE_V2(_is_reachable_v2)

/* ----------------------------------------------------------------- ucs: pool, cache */
static inline ucs_status_t uct_be_mpool_init(ucs_mpool_t *mp, size_t elem_size,
                                             unsigned elems_per_chunk,
                                             ucs_mpool_ops_t *ops, const char *name)
{
#ifdef BE_MPOOL_HAS_PARAMS
    ucs_mpool_params_t params;

    ucs_mpool_params_reset(&params);
    params.elem_size       = elem_size;
    params.elems_per_chunk = elems_per_chunk;
    params.ops             = ops;
    params.name            = name;
    return ucs_mpool_init(&params, mp);
#else
    return ucs_mpool_init(mp, 0, elem_size, 0, UCS_SYS_CACHE_LINE_SIZE, elems_per_chunk,
                          UINT_MAX, ops, name);
#endif
}

/* Regions of the registration cache are aligned to this. */
#define UCT_BE_RCACHE_ALIGNMENT UCS_SYS_CACHE_LINE_SIZE

static inline void uct_be_rcache_params_init(ucs_rcache_params_t *params)
{
    memset(params, 0, sizeof(*params));
#ifdef BE_RCACHE_PARAMS_HAS_ALIGNMENT
    params->alignment     = UCT_BE_RCACHE_ALIGNMENT;
    params->max_alignment = ucs_get_page_size();
#endif
}

#ifdef BE_RCACHE_OPS_HAS_MERGE
static inline void uct_be_rcache_merge(void *context, ucs_rcache_t *rcache, void *arg,
                                       ucs_rcache_region_t *region)
{
}
#define UCT_BE_RCACHE_OPS_OF_RELEASE .merge = uct_be_rcache_merge,
#else
#define UCT_BE_RCACHE_OPS_OF_RELEASE
#endif

static inline ucs_status_t uct_be_rcache_get(ucs_rcache_t *rcache, void *address,
                                             size_t length, int prot, void *arg,
                                             ucs_rcache_region_t **region_p)
{
#ifdef BE_RCACHE_GET_HAS_ALIGNMENT
    return ucs_rcache_get(rcache, address, length, UCT_BE_RCACHE_ALIGNMENT, prot, arg,
                          region_p);
#else
    return ucs_rcache_get(rcache, address, length, prot, arg, region_p);
#endif
}

#endif
