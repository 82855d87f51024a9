// SPDX-License-Identifier: BSD-3-Clause
#include "qp.h"

#include "context.h"
#include "cq.h"
#include "device.h"
#include "guard.h"
#include "log.h"
#include "qp_builder.h"
#include "srq.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softrdma {
namespace {

// 0 or the errno of a creation with these attributes.
int check_attributes(const ibv_qp_init_attr &attr)
{
    if ((attr.qp_type != IBV_QPT_RC) && (attr.qp_type != IBV_QPT_UC) &&
        (attr.qp_type != IBV_QPT_UD)) {
        return EOPNOTSUPP;
    }
    const ibv_qp_cap &cap = attr.cap;
    bool valid            = (attr.send_cq != nullptr) && (attr.recv_cq != nullptr) &&
                 (cap.max_send_wr <= limits::work_requests) &&
                 (cap.max_recv_wr <= limits::work_requests) &&
                 (cap.max_send_sge <= limits::sges) &&
                 (cap.max_recv_sge <= limits::sges) &&
                 (cap.max_inline_data <= limits::inline_bytes);
    return valid ? 0 : EINVAL;
}

// What is given is at least what was asked for.
void round_up(ibv_qp_init_attr &attr)
{
    ibv_qp_cap &cap     = attr.cap;
    cap.max_send_wr     = std::max(cap.max_send_wr, 1u);
    cap.max_send_sge    = std::max(cap.max_send_sge, 1u);
    cap.max_inline_data = std::max(cap.max_inline_data, 64u);
    if (attr.srq != nullptr) {
        cap.max_recv_wr  = 0;
        cap.max_recv_sge = 0;
    } else if (cap.max_recv_wr != 0) {
        cap.max_recv_sge = std::max(cap.max_recv_sge, 1u);
    }
}

} // namespace

queue_pair::queue_pair(process &owner_, ibv_pd *pd, uint32_t index_) :
    ibv_qp_ex{},
    owner(owner_),
    index(index_),
    shared(owner_.seg.base()->qps[index_]),
    m_receives(owner_, shared.rq),
    m_domain(pd)
{
}

queue_pair::~queue_pair()
{
    if (m_ring != nullptr) {
        munmap(m_ring, m_init.cap.max_send_wr * sizeof(stored_request));
    }
}

queue_pair *queue_pair::create(device_context &context, ibv_pd *pd,
                               ibv_qp_init_attr &attr, uint64_t operations)
{
    process &owner = *context.owner;
    int failure    = check_attributes(attr);
    if (failure != 0) {
        errno = failure;
        return nullptr;
    }
    uint32_t index = owner.qps.reserve();
    if (index == 0) {
        errno = ENOMEM;
        return nullptr;
    }

    round_up(attr);
    auto created = std::make_shared<queue_pair>(owner, pd, index);
    if (!created->m_receives.create(pd->handle, attr.cap.max_recv_wr,
                                    attr.cap.max_recv_sge, limits::qp_bounces,
                                    completion_queue::from(attr.recv_cq)->index())) {
        owner.qps.erase(index);
        errno = ENOMEM;
        return nullptr;
    }
    created->m_init   = attr;
    created->device   = context.device;
    created->pd_index = pd->handle;
    created->port     = &owner.reg.port(owner.reg.own_slot(), context.device);

    auto *send_cq = completion_queue::from(attr.send_cq);
    auto *recv_cq = completion_queue::from(attr.recv_cq);
    auto *srq = (attr.srq != nullptr) ? shared_receive_queue::from(attr.srq) : nullptr;
    ++send_cq->users;
    ++recv_cq->users;
    if (srq != nullptr) {
        ++srq->users;
    }

    ibv_qp &base    = created->qp_base;
    base.context    = &context.verbs.context;
    base.qp_context = attr.qp_context;
    base.pd         = pd;
    base.send_cq    = attr.send_cq;
    base.recv_cq    = attr.recv_cq;
    base.srq        = attr.srq;
    base.handle     = index;
    base.qp_num     = (owner.reg.own_slot() << limits::qp_bits) | index;
    base.state      = IBV_QPS_RESET;
    base.qp_type    = attr.qp_type;
    pthread_mutex_init(&base.mutex, nullptr);
    pthread_cond_init(&base.cond, nullptr);
    if (operations != 0) {
        created->m_builder = std::make_unique<request_builder>(*created);
    }
    owner.events.add(created->m_events, &base);

    qp_shared &shared  = created->shared;
    shared.type        = attr.qp_type;
    shared.device      = context.device;
    shared.pd          = pd->handle;
    shared.recv_cq     = recv_cq->index();
    shared.srq         = (srq != nullptr) ? srq->index() : 0;
    shared.dest_device = no_device;
    shared.cause.store(0);
    shared.contact.store(contact_none);
    shared.state.store(IBV_QPS_RESET, std::memory_order_release);

    queue_pair *result = created.get();
    owner.qps.publish(index, std::move(created));
    return result;
}

void queue_pair::query(ibv_qp_attr &attr, ibv_qp_init_attr *init)
{
    std::lock_guard lock(m_mutex);
    follow_remote_error();
    attr                = attributes;
    attr.qp_state       = state();
    attr.cur_qp_state   = state();
    attr.path_mig_state = IBV_MIG_MIGRATED;
    attr.cap            = m_init.cap;
    attr.sq_draining    = m_draining;
    if (init != nullptr) {
        *init = m_init;
    }
}

int queue_pair::destroy()
{
    owner.events.remove(m_events);
    wait_acknowledged(qp_base.mutex, qp_base.cond, qp_base.events_completed,
                      m_events.async_fetched);
    close();
    return 0;
}

void queue_pair::close()
{
    std::shared_ptr<queue_pair> keep = shared_from_this();
    {
        std::lock_guard lock(m_mutex);
        if (!m_open) {
            return;
        }
        m_open = false;
        shared.state.store(IBV_QPS_RESET, std::memory_order_seq_cst);
        stop_waiting();
        forget_travellers();
        close_flows();
    }
    // No peer starts anything more; what is running must end before its completions are removed.
    bool reuse = quiesce(owner.reg, owner.reg.own_slot());
    owner.served.abandon(index);
    auto *send_cq = completion_queue::from(qp_base.send_cq);
    auto *recv_cq = completion_queue::from(qp_base.recv_cq);
    send_cq->purge(*this);
    if (recv_cq != send_cq) {
        recv_cq->purge(*this);
    }
    m_receives.destroy(reuse);
    --send_cq->users;
    --recv_cq->users;
    if (qp_base.srq != nullptr) {
        --shared_receive_queue::from(qp_base.srq)->users;
    }
    owner.events.remove(m_events);
    m_domain.leave();
    owner.qps.erase(index);
}

ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr)
{
    constexpr uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                               IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (!is_usable(context)) {
        errno = EIO;
        return nullptr;
    }
    if (((attr->comp_mask & ~known) != 0) ||
        ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
         (attr->create_flags != 0))) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if (((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) || (attr->pd == nullptr)) {
        errno = EINVAL;
        return nullptr;
    }

    uint64_t operations = 0;
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
        operations         = attr->send_ops_flags;
        uint64_t supported = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
        if (attr->qp_type != IBV_QPT_UD) {
            supported |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                         IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
        }
        if (attr->qp_type == IBV_QPT_RC) {
            supported |= IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |
                         IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                         IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
        }
        if ((operations & ~supported) != 0) {
            errno = EOPNOTSUPP;
            return nullptr;
        }
    }

    // The extended attributes begin with the plain ones.
    ibv_qp_init_attr plain;
    memcpy(static_cast<void *>(&plain), attr, sizeof(plain));
    queue_pair *qp = queue_pair::create(*device_context::from(context), attr->pd, plain,
                                        operations);
    if (qp == nullptr) {
        return nullptr;
    }
    attr->cap = plain.cap;
    return &qp->qp_base;
}

} // namespace softrdma
