// SPDX-License-Identifier: BSD-3-Clause
//
// An open device. The verbs structure is embedded; its entry points are set by open_context() and
// replaced by failing ones in a forked child.
#pragma once

#include "process.h"

#include <infiniband/verbs.h>

#include <cstddef>
#include <mutex>

namespace softrdma {

struct device_context {
    verbs_context verbs{};
    process *owner  = nullptr;
    uint32_t device = 0;
    uint32_t index  = 0; // in process::contexts
    std::mutex async_mutex;
    int async_write = -1; // -1 once closed: the service thread may still know the context

    static device_context *from(ibv_context *context)
    {
        return reinterpret_cast<device_context *>(reinterpret_cast<char *>(context) -
                                                  offsetof(verbs_context, context));
    }

    // Whether the fault device-removed hit it.
    bool removed() const;

    // Hands an asynchronous event to the application; target null for the port's own.
    void raise(ibv_event_type type, const event_target *target);
};

// True when the context belongs to the process that runs; false in a forked child.
inline bool is_usable(ibv_context *context)
{
    return device_context::from(context)->owner == process::get();
}

// With a descriptor of its own, or with one that is imported, which is the context's from then on. Null with
// errno.
ibv_context *open_context(process &owner, ibv_device *device, int imported_fd = -1);
int close_context(device_context &context);

// Takes the next event; -1 with errno as read(2) sets it.
int next_async_event(device_context &context, ibv_async_event &event);
void acknowledge_async_event(ibv_async_event &event);

// Around fork(): the list of contexts is locked before, unlocked on both sides after it, and in the child
// every inherited context fails from there on.
void lock_contexts_for_fork();
void unlock_contexts_after_fork(bool child);

int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr, size_t length);

} // namespace softrdma
