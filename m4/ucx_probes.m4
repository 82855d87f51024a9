dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl What differs between UCX releases in the internal UCT interface. Each probe
dnl defines a BE_ macro in be_config.h; only src/ucx_be/compat.h reads them.

dnl BE_UCX_MEMBER(STRUCT, MEMBER, MACRO)
AC_DEFUN([BE_UCX_MEMBER], [
    AC_CHECK_MEMBER([$1.$2], [AC_DEFINE([$3], [1], [UCX: $1 has $2])], [],
                    [$be_ucx_includes])
])

dnl BE_UCX_ACCEPTS(DESCRIPTION, MACRO, PROLOGUE, BODY)
AC_DEFUN([BE_UCX_ACCEPTS], [
    AC_MSG_CHECKING([whether $1])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([$be_ucx_includes
$3], [$4])],
        [AC_MSG_RESULT([yes])
         AC_DEFINE([$2], [1], [UCX: $1])],
        [AC_MSG_RESULT([no])])
])

AC_DEFUN([BE_UCX_PROBES], [
    be_save_CPPFLAGS=$CPPFLAGS
    be_save_CFLAGS=$CFLAGS
    CPPFLAGS="-isystem `pwd`/ucx-config -isystem $be_ucx_src/src $UCX_CPPFLAGS $CPPFLAGS"
    CFLAGS="$CFLAGS -std=gnu11 -Werror=incompatible-pointer-types -Werror=int-conversion"
    CFLAGS="$CFLAGS -Werror=implicit-function-declaration"
    be_ucx_includes='
#include <config.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_md.h>
#include <uct/api/v2/uct_v2.h>
#include <ucs/memory/rcache.h>'

    AC_MSG_CHECKING([whether UCX's internal headers compile])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([$be_ucx_includes], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([UCX's internal headers in $be_ucx_src/src do not compile: see config.log])])

    BE_UCX_MEMBER([struct uct_component], [rkey_compare], [BE_COMPONENT_HAS_RKEY_COMPARE])
    BE_UCX_MEMBER([struct uct_md_ops], [mem_attach], [BE_MD_HAS_MEM_ATTACH])
    BE_UCX_MEMBER([struct uct_md_ops], [mem_elem_pack], [BE_MD_HAS_MEM_ELEM])
    BE_UCX_MEMBER([struct uct_md_ops], [is_sockaddr_accessible], [BE_MD_HAS_SOCKADDR])
    BE_UCX_MEMBER([uct_md_attr_v2_t], [reg_alignment], [BE_MD_ATTR_HAS_REG_ALIGNMENT])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [iface_is_reachable_v2], [BE_IS_REACHABLE_V2])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [iface_mem_element_pack],
                  [BE_INTERNAL_HAS_MEM_ELEMENT_PACK])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [ep_connect_to_ep_v2],
                  [BE_INTERNAL_HAS_CONNECT_TO_EP_V2])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [ep_is_connected],
                  [BE_INTERNAL_HAS_IS_CONNECTED])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [iface_query_v2], [BE_INTERNAL_HAS_QUERY_V2])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [ep_get_device_ep], [BE_INTERNAL_HAS_DEVICE_EP])
    BE_UCX_MEMBER([uct_iface_internal_ops_t], [ep_outstanding_purge],
                  [BE_INTERNAL_HAS_OUTSTANDING_PURGE])

    BE_UCX_ACCEPTS([rkey_unpack takes parameters], [BE_RKEY_UNPACK_HAS_PARAMS],
        [static ucs_status_t f(uct_component_t *c, const void *b, const uct_rkey_unpack_params_t *p, uct_rkey_t *r, void **h) { return UCS_OK; }],
        [uct_component_rkey_unpack_func_t g = f; (void)g;])
    BE_UCX_ACCEPTS([md mem_alloc takes a system device], [BE_MEM_ALLOC_HAS_SYS_DEV],
        [static ucs_status_t f(uct_md_h m, size_t *l, void **a, ucs_memory_type_t t, ucs_sys_device_t s, unsigned fl, const char *n, uct_mem_h *h) { return UCS_OK; }],
        [uct_md_mem_alloc_func_t g = f; (void)g;])
    BE_UCX_ACCEPTS([md mem_reg takes parameters], [BE_MEM_REG_HAS_PARAMS],
        [static ucs_status_t f(uct_md_h m, void *a, size_t l, const uct_md_mem_reg_params_t *p, uct_mem_h *h) { return UCS_OK; }],
        [uct_md_mem_reg_func_t g = f; (void)g;])
    BE_UCX_ACCEPTS([md mkey_pack takes an address], [BE_MKEY_PACK_HAS_ADDRESS],
        [static ucs_status_t f(uct_md_h m, uct_mem_h h, void *a, size_t l, const uct_md_mkey_pack_params_t *p, void *b) { return UCS_OK; }],
        [uct_md_mkey_pack_func_t g = f; (void)g;])
    BE_UCX_ACCEPTS([md query fills uct_md_attr_v2_t], [BE_MD_QUERY_V2],
        [static ucs_status_t f(uct_md_h m, uct_md_attr_v2_t *a) { return UCS_OK; }],
        [uct_md_query_func_t g = f; (void)g;])
    BE_UCX_ACCEPTS([md mkey_pack can export a key], [BE_MKEY_PACK_HAS_EXPORT],
        [], [int flag = UCT_MD_MKEY_PACK_FLAG_EXPORT; (void)flag;])
    BE_UCX_ACCEPTS([md flags tell what can be invalidated], [BE_MD_HAS_INVALIDATE_RMA],
        [], [unsigned long flag = UCT_MD_FLAG_INVALIDATE_RMA; (void)flag;])
    BE_UCX_ACCEPTS([configuration tables are read by their list entry], [BE_CONFIG_FILL_TAKES_ENTRY],
        [], [ucs_config_global_list_entry_t *e = 0; (void)ucs_config_parser_fill_opts((void*)0, e, "", 0);])
    BE_UCX_ACCEPTS([configuration types have documentation], [BE_CONFIG_HAS_DOC],
        [], [void *f = (void*)ucs_config_doc_nop; (void)f;])
    BE_UCX_ACCEPTS([UCT_EP_KEEPALIVE_CHECK_PARAM has one argument], [BE_KEEPALIVE_CHECK_1ARG],
        [static ucs_status_t f(unsigned flags) { UCT_EP_KEEPALIVE_CHECK_PARAM(flags); return UCS_OK; }],
        [(void)f;])
    BE_UCX_ACCEPTS([ucs_mpool_init takes a parameter structure], [BE_MPOOL_HAS_PARAMS],
        [[#include <ucs/datastruct/mpool.h>]],
        [ucs_mpool_params_t p; ucs_mpool_params_reset(&p);])

    dnl The registration cache (ucs_rcache) is internal too and changed more often.
    BE_UCX_ACCEPTS([ucs_rcache_get takes an alignment], [BE_RCACHE_GET_HAS_ALIGNMENT],
        [],
        [ucs_rcache_region_t *r; (void)ucs_rcache_get((ucs_rcache_t*)0, (void*)0, (size_t)0, (size_t)1, 0, (void*)0, &r);])
    BE_UCX_MEMBER([ucs_rcache_params_t], [alignment], [BE_RCACHE_PARAMS_HAS_ALIGNMENT])
    BE_UCX_MEMBER([ucs_rcache_ops_t], [merge], [BE_RCACHE_OPS_HAS_MERGE])

    CPPFLAGS=$be_save_CPPFLAGS
    CFLAGS=$be_save_CFLAGS
])
