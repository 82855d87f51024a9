// SPDX-License-Identifier: BSD-3-Clause
//
// Exported functions: protection domains, memory regions, completion channels and queues.
#include "exports.h"

#include "channel.h"
#include "cq.h"
#include "mr.h"

#include <cerrno>

using namespace softrdma;

namespace {

process &owner_of(ibv_context *context)
{
    return *device_context::from(context)->owner;
}

ibv_mr *name_region(ibv_pd *pd, std::shared_ptr<region> shared)
{
    auto *name    = new memory_region{};
    name->context = pd->context;
    name->pd      = pd;
    shared->describe(*name);
    name->shared = std::move(shared);
    return name;
}

ibv_mr *
register_memory(ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
    SOFTRDMA_CHECK_PRESENT(pd->context, nullptr);
    std::shared_ptr<region> fresh = region::create(owner_of(pd->context), pd, addr,
                                                   length, iova, access);
    return (fresh == nullptr) ? nullptr : name_region(pd, std::move(fresh));
}

} // namespace

SOFTRDMA_EXPORT ibv_pd *ibv_alloc_pd(ibv_context *context)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_alloc_pd, "IBVERBS_1.1", context);
    SOFTRDMA_CHECK_PRESENT(context, nullptr);
    std::shared_ptr<domain> fresh = owner_of(context).domains.create(context);
    if (fresh == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    return name_domain(context, std::move(fresh));
}

SOFTRDMA_EXPORT int ibv_dealloc_pd(ibv_pd *pd)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_dealloc_pd, "IBVERBS_1.1", pd);
    SOFTRDMA_CHECK_USABLE(pd->context, EIO);
    protection_domain *name = protection_domain::from(pd);
    int failure             = owner_of(pd->context).domains.destroy(*name->shared);
    if (failure == 0) {
        delete name;
    }
    return failure;
}

SOFTRDMA_EXPORT ibv_mr *ibv_reg_mr(ibv_pd *pd, void *addr, size_t length, int access)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_reg_mr, "IBVERBS_1.1", pd, addr,
                        length, access);
    return register_memory(pd, addr, length, reinterpret_cast<uint64_t>(addr), access);
}

SOFTRDMA_EXPORT ibv_mr *
ibv_reg_mr_iova(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_reg_mr_iova, "IBVERBS_1.7", pd, addr,
                        length, iova, access);
    return register_memory(pd, addr, length, iova, access);
}

SOFTRDMA_EXPORT ibv_mr *
ibv_reg_mr_iova2(ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_reg_mr_iova2, "IBVERBS_1.8", pd, addr,
                        length, iova, access);
    return register_memory(pd, addr, length, iova, access);
}

SOFTRDMA_EXPORT ibv_mr *ibv_reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length,
                                          uint64_t iova, int fd, int access)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_reg_dmabuf_mr, "IBVERBS_1.12", pd,
                        offset, length, iova, fd, access);
    errno = EOPNOTSUPP;
    return nullptr;
}

SOFTRDMA_EXPORT int
ibv_rereg_mr(ibv_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access)
{
    SOFTRDMA_FORWARD_IF(!is_ours(mr->context), ibv_rereg_mr, "IBVERBS_1.1", mr, flags, pd,
                        addr, length, access);
    SOFTRDMA_CHECK_PRESENT(mr->context, IBV_REREG_MR_ERR_INPUT);
    memory_region *name = memory_region::from(mr);
    return name->shared->change(*name, flags, pd, addr, length, access);
}

SOFTRDMA_EXPORT int ibv_dereg_mr(ibv_mr *mr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(mr->context), ibv_dereg_mr, "IBVERBS_1.1", mr);
    SOFTRDMA_CHECK_USABLE(mr->context, EIO);
    memory_region *name = memory_region::from(mr);
    int failure         = name->shared->close();
    if (failure == 0) {
        delete name;
    }
    return failure;
}

SOFTRDMA_EXPORT ibv_pd *ibv_import_pd(ibv_context *context, uint32_t handle)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_import_pd, "IBVERBS_1.10", context,
                        handle);
    SOFTRDMA_CHECK_USABLE(context, nullptr);
    std::shared_ptr<domain> found = owner_of(context).domains.find(handle);
    if ((found == nullptr) || (found->context->device != context->device)) {
        errno = EINVAL;
        return nullptr;
    }
    return name_domain(context, std::move(found));
}

SOFTRDMA_EXPORT void ibv_unimport_pd(ibv_pd *pd)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_unimport_pd, "IBVERBS_1.10", pd);
    delete protection_domain::from(pd);
}

SOFTRDMA_EXPORT ibv_mr *ibv_import_mr(ibv_pd *pd, uint32_t handle)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_import_mr, "IBVERBS_1.10", pd, handle);
    SOFTRDMA_CHECK_USABLE(pd->context, nullptr);
    std::shared_ptr<region> found = owner_of(pd->context).mrs.find(handle);
    if ((found == nullptr) || (found->pd_handle() != pd->handle)) {
        errno = EINVAL;
        return nullptr;
    }
    ibv_mr *name = name_region(pd, std::move(found));
    name->addr   = nullptr; // as the library has it: the importer may not see that memory
    return name;
}

SOFTRDMA_EXPORT void ibv_unimport_mr(ibv_mr *mr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(mr->context), ibv_unimport_mr, "IBVERBS_1.10", mr);
    delete memory_region::from(mr);
}

SOFTRDMA_EXPORT ibv_dm *ibv_import_dm(ibv_context *context, uint32_t handle)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_import_dm, "IBVERBS_1.13", context,
                        handle);
    errno = EOPNOTSUPP;
    return nullptr;
}

SOFTRDMA_EXPORT void ibv_unimport_dm(ibv_dm *dm)
{
    SOFTRDMA_FORWARD_IF(!is_ours(dm->context), ibv_unimport_dm, "IBVERBS_1.13", dm);
}

SOFTRDMA_EXPORT ibv_comp_channel *ibv_create_comp_channel(ibv_context *context)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_create_comp_channel, "IBVERBS_1.0",
                        context);
    SOFTRDMA_CHECK_PRESENT(context, nullptr);
    return create_channel(*device_context::from(context));
}

SOFTRDMA_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel *channel)
{
    SOFTRDMA_FORWARD_IF(!is_ours(channel->context), ibv_destroy_comp_channel,
                        "IBVERBS_1.0", channel);
    SOFTRDMA_CHECK_USABLE(channel->context, EIO);
    return destroy_channel(*completion_channel::from(channel));
}

SOFTRDMA_EXPORT ibv_cq *ibv_create_cq(ibv_context *context, int cqe, void *cq_context,
                                      ibv_comp_channel *channel, int vector)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_create_cq, "IBVERBS_1.1", context, cqe,
                        cq_context, channel, vector);
    SOFTRDMA_CHECK_PRESENT(context, nullptr);
    if ((vector < 0) || (vector >= context->num_comp_vectors) || (cqe <= 0)) {
        errno = EINVAL;
        return nullptr;
    }
    auto *cq = completion_queue::create(*device_context::from(context),
                                        static_cast<uint32_t>(cqe), cq_context, channel);
    return (cq != nullptr) ? cq->verbs() : nullptr;
}

SOFTRDMA_EXPORT int ibv_resize_cq(ibv_cq *cq, int cqe)
{
    SOFTRDMA_FORWARD_IF(!is_ours(cq->context), ibv_resize_cq, "IBVERBS_1.1", cq, cqe);
    SOFTRDMA_CHECK_PRESENT(cq->context, EIO);
    return (cqe > 0) ? completion_queue::from(cq)->resize(static_cast<uint32_t>(cqe)) :
                       EINVAL;
}

// Polls of this queue, when empty, after which the processor is given away (SOFTRDMA_YIELD is the default; see idle.h);
// 0 never: for a program that polls with a lock of its own held, for which other threads spin. Not part of verbs:
// look it up with dlsym(). Any thread. 0, EINVAL for a queue of another device.
extern "C" __attribute__((visibility("default"))) int
softrdma_cq_set_yield(ibv_cq *cq, uint32_t polls);

SOFTRDMA_EXPORT int softrdma_cq_set_yield(ibv_cq *cq, uint32_t polls)
{
    if (!is_ours(cq->context)) {
        return EINVAL;
    }
    SOFTRDMA_CHECK_USABLE(cq->context, EIO);
    completion_queue::from(cq)->set_yield(polls);
    return 0;
}

SOFTRDMA_EXPORT int ibv_destroy_cq(ibv_cq *cq)
{
    SOFTRDMA_FORWARD_IF(!is_ours(cq->context), ibv_destroy_cq, "IBVERBS_1.1", cq);
    SOFTRDMA_CHECK_USABLE(cq->context, EIO);
    return completion_queue::from(cq)->destroy();
}

SOFTRDMA_EXPORT int
ibv_get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **cq_context)
{
    SOFTRDMA_FORWARD_IF(!is_ours(channel->context), ibv_get_cq_event, "IBVERBS_1.1",
                        channel, cq, cq_context);
    SOFTRDMA_CHECK_USABLE(channel->context, -1);
    return next_cq_event(*completion_channel::from(channel), cq, cq_context);
}

SOFTRDMA_EXPORT void ibv_ack_cq_events(ibv_cq *cq, unsigned count)
{
    SOFTRDMA_FORWARD_IF(!is_ours(cq->context), ibv_ack_cq_events, "IBVERBS_1.1", cq,
                        count);
    acknowledge(cq->mutex, cq->cond, cq->comp_events_completed, count);
}
