// SPDX-License-Identifier: BSD-3-Clause
//
// The software device loaded as a program without libibverbs loads it: dlopen and dlsym.
#pragma once

#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include <cstdint>

#define SOFTRDMA_FUNCTIONS(X) \
    X(get_device_list)        \
    X(free_device_list)       \
    X(get_device_name)        \
    X(get_device_guid)        \
    X(open_device)            \
    X(close_device)           \
    X(query_device)           \
    X(query_gid)              \
    X(query_pkey)             \
    X(alloc_pd)               \
    X(dealloc_pd)             \
    X(reg_mr)                 \
    X(reg_mr_iova2)           \
    X(rereg_mr)               \
    X(dereg_mr)               \
    X(create_comp_channel)    \
    X(destroy_comp_channel)   \
    X(get_cq_event)           \
    X(ack_cq_events)          \
    X(create_cq)              \
    X(resize_cq)              \
    X(destroy_cq)             \
    X(create_srq)             \
    X(modify_srq)             \
    X(query_srq)              \
    X(destroy_srq)            \
    X(create_qp)              \
    X(modify_qp)              \
    X(query_qp)               \
    X(destroy_qp)             \
    X(qp_to_qp_ex)            \
    X(import_device)          \
    X(import_pd)              \
    X(unimport_pd)            \
    X(import_mr)              \
    X(unimport_mr)            \
    X(create_ah)              \
    X(init_ah_from_wc)        \
    X(create_ah_from_wc)      \
    X(destroy_ah)             \
    X(get_async_event)        \
    X(ack_async_event)        \
    X(wc_status_str)          \
    X(rate_to_mbps)

namespace softtest {

struct verbs_api {
#define SOFTRDMA_DECLARE(name) decltype(&ibv_##name) name;
    SOFTRDMA_FUNCTIONS(SOFTRDMA_DECLARE)
#undef SOFTRDMA_DECLARE
    decltype(&_ibv_query_gid_ex) query_gid_ex;
    decltype(&_ibv_query_gid_table) query_gid_table;
    void *library;
};

// Loads SOFTRDMA_LIBRARY, else $BE_MODULEDIR/libsoftrdma.so, else the name alone. Exits with
// a message when that fails.
const verbs_api &verbs();

} // namespace softtest
