// SPDX-License-Identifier: BSD-3-Clause
#include "srq.h"

#include "context.h"
#include "guard.h"

#include <algorithm>
#include <cerrno>

namespace softrdma {

shared_receive_queue::shared_receive_queue(process &owner, ibv_pd *pd_, uint32_t index) :
    ibv_srq{},
    m_owner(owner),
    m_index(index),
    m_receives(owner, owner.seg.base()->srqs[index]),
    m_domain(pd_)
{
}

shared_receive_queue *
shared_receive_queue::create(process &owner, ibv_pd *pd, ibv_srq_init_attr &attr)
{
    if ((attr.attr.max_wr == 0) || (attr.attr.max_wr > limits::work_requests) ||
        (attr.attr.max_sge > limits::sges)) {
        errno = EINVAL;
        return nullptr;
    }
    uint32_t index = owner.srqs.reserve();
    if (index == 0) {
        errno = ENOMEM;
        return nullptr;
    }

    auto created         = std::make_shared<shared_receive_queue>(owner, pd, index);
    created->context     = pd->context;
    created->srq_context = attr.srq_context;
    created->pd          = pd;
    created->handle      = index;
    created->m_max_sge   = std::max(attr.attr.max_sge, 1u);
    if (!created->m_receives.create(pd->handle, attr.attr.max_wr, created->m_max_sge,
                                    limits::srq_bounces, 0)) {
        owner.srqs.erase(index);
        errno = ENOMEM;
        return nullptr;
    }
    pthread_mutex_init(&created->mutex, nullptr);
    pthread_cond_init(&created->cond, nullptr);
    owner.events.add(created->m_events, static_cast<ibv_srq *>(created.get()));
    attr.attr.max_sge = created->m_max_sge;

    shared_receive_queue *result = created.get();
    owner.srqs.publish(index, std::move(created));
    return result;
}

int shared_receive_queue::modify(const ibv_srq_attr &attr, int mask)
{
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) {
        return EINVAL;
    }
    bool resize    = (mask & IBV_SRQ_MAX_WR) != 0;
    uint32_t depth = resize ? attr.max_wr : m_receives.depth();
    if ((depth == 0) || (depth > limits::work_requests) ||
        ((mask & IBV_SRQ_LIMIT) && (attr.srq_limit > depth))) {
        return EINVAL;
    }
    int failure = resize ? m_receives.resize(depth) : 0;
    if (failure != 0) {
        return failure;
    }
    if ((mask & IBV_SRQ_LIMIT) != 0) {
        check_limit(); // of the previous limit
        rq_shared &shared = m_receives.shared();
        shared.lock.lock(m_owner.token());
        shared.limit.store(attr.srq_limit, std::memory_order_relaxed);
        shared.lock.unlock();
    }
    return 0;
}

void shared_receive_queue::query(ibv_srq_attr &attr)
{
    attr.max_wr    = m_receives.depth();
    attr.max_sge   = m_max_sge;
    attr.srq_limit = m_receives.shared().limit.load(std::memory_order_relaxed);
}

int shared_receive_queue::destroy()
{
    if (users.load() != 0) {
        return EBUSY;
    }
    m_owner.events.remove(m_events);
    wait_acknowledged(mutex, cond, events_completed, m_events.async_fetched);
    m_receives.destroy(quiesce(m_owner.reg, m_owner.reg.own_slot()));
    pthread_mutex_destroy(&mutex);
    pthread_cond_destroy(&cond);
    m_domain.leave();
    m_owner.srqs.erase(
            m_index); // frees this object, unless the service thread looks at it
    return 0;
}

void shared_receive_queue::check_limit()
{
    rq_shared &shared = m_receives.shared();
    if (shared.limit_reached.load(std::memory_order_acquire) == 0) {
        return;
    }
    shared.lock.lock(m_owner.token());
    bool reached = shared.limit_reached.exchange(0, std::memory_order_relaxed) != 0;
    if (reached) {
        shared.limit.store(0, std::memory_order_relaxed);
    }
    shared.lock.unlock();
    if (reached) {
        device_context::from(context)->raise(IBV_EVENT_SRQ_LIMIT_REACHED, &m_events);
    }
}

int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    return shared_receive_queue::from(srq)->receives().post(wr, bad);
}

} // namespace softrdma
