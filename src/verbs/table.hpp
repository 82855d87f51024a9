// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points of a verbs library, found at run time.
//
// Nothing here is linked against libibverbs: the hardware's library and the embedded
// software device export the same names and the same ABI, each fills one Table, and both
// may be in use in one process. Code outside this folder never calls an ibv_* function by
// name (the inline ones of verbs.h that go through an object's own operations, such as
// ibv_poll_cq, are hidden behind the classes of this folder).
//
// Ownership: a table is loaded on first use, once per process, and never unloaded:
// threads of a provider and exit handlers may still run in it.
// Threads: both functions may be called from any thread.
// Errors: a null pointer, and the reason in words; nothing is thrown.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>

// verbs.h hides these names behind macros that would bypass the table.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace be::verbs {

struct Table {
    bool soft           = false; // the embedded software device
    std::string library = {}; // file the entry points came from

    ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(ibv_device **list);
    const char *(*get_device_name)(ibv_device *device);
    __be64 (*get_device_guid)(ibv_device *device);
    ibv_context *(*open_device)(ibv_device *device);
    int (*close_device)(ibv_context *context);
    int (*query_device)(ibv_context *context, ibv_device_attr *attr);
    // The old, shorter structure: use verbs::query_port() below.
    int (*query_port_compat)(ibv_context *context, uint8_t port,
                             _compat_ibv_port_attr *attr);
    int (*query_gid)(ibv_context *context, uint8_t port, int index, ibv_gid *gid);
    ibv_pd *(*alloc_pd)(ibv_context *context);
    int (*dealloc_pd)(ibv_pd *pd);
    ibv_mr *(*reg_mr)(ibv_pd *pd, void *address, size_t length, int access);
    int (*dereg_mr)(ibv_mr *mr);
    ibv_comp_channel *(*create_comp_channel)(ibv_context *context);
    int (*destroy_comp_channel)(ibv_comp_channel *channel);
    ibv_cq *(*create_cq)(ibv_context *context, int entries, void *cookie,
                         ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(ibv_cq *cq);
    int (*get_cq_event)(ibv_comp_channel *channel, ibv_cq **cq, void **cookie);
    void (*ack_cq_events)(ibv_cq *cq, unsigned count);
    ibv_srq *(*create_srq)(ibv_pd *pd, ibv_srq_init_attr *attr);
    int (*modify_srq)(ibv_srq *srq, ibv_srq_attr *attr, int mask);
    int (*query_srq)(ibv_srq *srq, ibv_srq_attr *attr);
    int (*destroy_srq)(ibv_srq *srq);
    ibv_qp *(*create_qp)(ibv_pd *pd, ibv_qp_init_attr *attr);
    int (*modify_qp)(ibv_qp *qp, ibv_qp_attr *attr, int mask);
    int (*query_qp)(ibv_qp *qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init);
    int (*destroy_qp)(ibv_qp *qp);
    int (*get_async_event)(ibv_context *context, ibv_async_event *event);
    void (*ack_async_event)(ibv_async_event *event);
    int (*fork_init)();

    // Null when the library is too old to have it.
    ibv_mr *(*reg_mr_iova2)(ibv_pd *pd, void *address, size_t length, uint64_t iova,
                            unsigned access);
    // Null but for the software device: empty polls before poll_cq gives the processor away, 0 never.
    int (*cq_set_yield)(ibv_cq *cq, uint32_t polls);
};

// libibverbs.so.1 of the system.
const Table *hardware(std::string *why);

// libsoftrdma.so: the file UCX_BE_SOFT_LIBRARY names, or the one beside the library that
// contains this code, or the one the loader finds by name.
const Table *soft(std::string *why);

// Every device name of the software device begins with this.
inline constexpr char soft_device_prefix[] = "softrdma";

// 0 or an errno value. Same rule as verbs.h: the provider's extended call when the
// context has one.
int query_port(const Table &table, ibv_context *context, uint8_t port,
               ibv_port_attr *attr);

} // namespace be::verbs
