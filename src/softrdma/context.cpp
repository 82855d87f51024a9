// SPDX-License-Identifier: BSD-3-Clause
#include "context.h"

#include "clock.h"
#include "context_file.h"
#include "cq.h"
#include "device.h"
#include "log.h"
#include "mr.h"
#include "qp.h"
#include "srq.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace softrdma {
namespace {

// What a forked child gets of its parent's contexts.
int child_poll(ibv_cq *, int, ibv_wc *)
{
    return -1;
}

int child_notify(ibv_cq *, int)
{
    return EIO;
}

int child_post_send(ibv_qp *, ibv_send_wr *wr, ibv_send_wr **bad)
{
    *bad = wr;
    return EIO;
}

int child_post_recv(ibv_qp *, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

int child_post_srq_recv(ibv_srq *, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    *bad = wr;
    return EIO;
}

int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input,
                    ibv_device_attr_ex *attr, size_t length)
{
    if (!is_usable(context) || device_context::from(context)->removed()) {
        return EIO;
    }
    if (((input != nullptr) && (input->comp_mask != 0)) ||
        (length < sizeof(ibv_device_attr))) {
        return EINVAL;
    }
    device_context &self = *device_context::from(context);
    ibv_device_attr_ex full{};
    fill_device_attr(*self.owner, self.device, full.orig_attr);
    full.phys_port_cnt_ex          = 1;
    full.completion_timestamp_mask = UINT64_MAX;
    full.hca_core_clock            = 1'000'000; // kHz: timestamps are nanoseconds
    memset(attr, 0, length);
    memcpy(static_cast<void *>(attr), &full, std::min(length, sizeof(full)));
    return 0;
}

// The raw clock is what completions are stamped with.
int query_rt_values(ibv_context *context, ibv_values_ex *values)
{
    if (!is_usable(context)) {
        return EIO;
    }
    uint32_t wanted = values->comp_mask;
    if ((wanted & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) {
        return EINVAL;
    }
    values->comp_mask = 0;
    if (wanted != 0) {
        values->raw_clock.tv_sec  = 0;
        values->raw_clock.tv_nsec = static_cast<long>(now_ns());
        values->comp_mask         = IBV_VALUES_MASK_RAW_CLOCK;
    }
    return 0;
}

// Every live context, for unlock_contexts_after_fork(): a list under its own lock, since a child may find
// the tables of the parent's process object locked.
std::mutex list_mutex;
std::vector<device_context *> &list = *new std::vector<device_context *>;

} // namespace

int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr, size_t length)
{
    if (!is_usable(context) || device_context::from(context)->removed()) {
        return EIO;
    }
    if (port != port_number) {
        return EINVAL;
    }
    device_context &self = *device_context::from(context);
    ibv_port_attr full;
    fill_port_attr(*self.owner, self.device, full);
    memset(attr, 0, length);
    memcpy(static_cast<void *>(attr), &full, std::min(length, sizeof(full)));
    return 0;
}

ibv_context *open_context(process &owner, ibv_device *device, int imported_fd)
{
    bool imported = imported_fd >= 0;
    int file = imported ? imported_fd : create_context_file(owner, device_index(device));
    int pipe[2]    = {-1, -1};
    bool opened    = (file >= 0) && (pipe2(pipe, O_CLOEXEC) == 0);
    uint32_t index = opened ? owner.contexts.reserve() : 0;
    if (index == 0) {
        int failure = opened ? ENOMEM : errno;
        for (int fd : {pipe[0], pipe[1], imported ? -1 : file}) {
            if (fd >= 0) {
                close(fd);
            }
        }
        errno = failure;
        return nullptr;
    }
    fcntl(pipe[1], F_SETFL, O_NONBLOCK);
    auto created         = std::make_shared<device_context>();
    created->owner       = &owner;
    created->device      = device_index(device);
    created->index       = index;
    created->async_write = pipe[1];

    verbs_context &verbs           = created->verbs;
    verbs.sz                       = sizeof(verbs);
    verbs.query_port               = query_port;
    verbs.query_device_ex          = query_device_ex;
    verbs.query_rt_values          = query_rt_values;
    verbs.create_cq_ex             = create_cq_ex;
    verbs.create_qp_ex             = create_qp_ex;
    verbs.context.device           = device;
    verbs.context.cmd_fd           = file;
    verbs.context.async_fd         = pipe[0];
    verbs.context.num_comp_vectors = 1;
    verbs.context.abi_compat       = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&verbs.context.mutex, nullptr);

    ibv_context_ops &ops = verbs.context.ops;
    ops.poll_cq          = poll_cq;
    ops.req_notify_cq    = req_notify_cq;
    ops.post_send        = post_send;
    ops.post_recv        = post_recv;
    ops.post_srq_recv    = post_srq_recv;
    ops.alloc_mw         = alloc_mw;
    ops.bind_mw          = bind_mw;
    ops.dealloc_mw       = dealloc_mw;

    {
        std::lock_guard lock(list_mutex);
        list.push_back(created.get());
    }
    ibv_context *result = &verbs.context;
    owner.contexts.publish(index, std::move(created));
    owner.background.start(); // events of the port come without the application's doing
    return result;
}

int close_context(device_context &context)
{
    process &owner = *context.owner;
    // What the application left behind goes away with the context, as the kernel does it.
    for (const auto &qp : owner.qps.snapshot()) {
        if (qp->qp_base.context == &context.verbs.context) {
            qp->close();
        }
    }
    owner.windows.forget(&context.verbs.context);
    for (const auto &region : owner.mrs.snapshot()) {
        if (region->context() == &context.verbs.context) {
            region->close();
        }
    }
    owner.domains.forget(&context.verbs.context);
    {
        std::lock_guard lock(list_mutex);
        std::erase(list, &context);
    }
    close(context.verbs.context.cmd_fd);
    close(context.verbs.context.async_fd);
    {
        std::lock_guard lock(context.async_mutex);
        close(context.async_write);
        context.async_write = -1;
    }
    pthread_mutex_destroy(&context.verbs.context.mutex);
    owner.contexts.erase(context.index);
    return 0;
}

bool device_context::removed() const
{
    return device_removed(*owner, device);
}

void device_context::raise(ibv_event_type type, const event_target *target)
{
    async_record record{(target != nullptr) ? target->id : 0, static_cast<uint32_t>(type),
                        port_number};
    std::lock_guard lock(async_mutex);
    if (async_write < 0) {
        return;
    }
    if (write(async_write, &record, sizeof(record)) != sizeof(record)) {
        SOFTRDMA_LOG_ONCE(warn,
                          "asynchronous event %d is lost: 4096 events wait to be read",
                          type);
    }
}

int next_async_event(device_context &context, ibv_async_event &event)
{
    for (;;) {
        async_record record;
        ssize_t length = read(context.verbs.context.async_fd, &record, sizeof(record));
        if (length != sizeof(record)) {
            return -1;
        }
        event.event_type = static_cast<ibv_event_type>(record.type);
        if (record.id == 0) {
            event.element.port_num = static_cast<int>(record.port);
            return 0;
        }
        void *object = context.owner->events.fetch_async(record.id);
        if (object != nullptr) {
            event.element.qp = static_cast<ibv_qp *>(object);
            return 0;
        }
    }
}

void acknowledge_async_event(ibv_async_event &event)
{
    switch (event.event_type) {
    case IBV_EVENT_CQ_ERR: {
        ibv_cq &cq = *event.element.cq;
        acknowledge(cq.mutex, cq.cond, cq.async_events_completed, 1);
        break;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
        ibv_qp &qp = *event.element.qp;
        acknowledge(qp.mutex, qp.cond, qp.events_completed, 1);
        break;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
        ibv_srq &srq = *event.element.srq;
        acknowledge(srq.mutex, srq.cond, srq.events_completed, 1);
        break;
    }
    default:
        break;
    }
}

void lock_contexts_for_fork()
{
    list_mutex.lock();
}

void unlock_contexts_after_fork(bool child)
{
    for (device_context *context : list) {
        if (!child) {
            break;
        }
        ibv_context_ops &ops = context->verbs.context.ops;
        ops.poll_cq          = child_poll;
        ops.req_notify_cq    = child_notify;
        ops.post_send        = child_post_send;
        ops.post_recv        = child_post_recv;
        ops.post_srq_recv    = child_post_srq_recv;
    }
    list_mutex.unlock();
}

} // namespace softrdma
