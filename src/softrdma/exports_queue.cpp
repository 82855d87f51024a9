// SPDX-License-Identifier: BSD-3-Clause
//
// Exported functions: queue pairs, shared receive queues, address handles.
#include "exports.h"

#include "ah.h"
#include "qp.h"
#include "srq.h"

#include <cerrno>

using namespace softrdma;

namespace {

process &owner_of(ibv_context *context)
{
    return *device_context::from(context)->owner;
}

// An address handle of the application; those of waiting requests are plain copies.
struct application_handle : address_handle {
    explicit application_handle(ibv_pd *pd_) : address_handle{}, domain(pd_)
    {
    }

    domain_user domain;
};

} // namespace

SOFTRDMA_EXPORT ibv_srq *ibv_create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_create_srq, "IBVERBS_1.1", pd, attr);
    SOFTRDMA_CHECK_PRESENT(pd->context, nullptr);
    return shared_receive_queue::create(owner_of(pd->context), pd, *attr);
}

SOFTRDMA_EXPORT int ibv_modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int mask)
{
    SOFTRDMA_FORWARD_IF(!is_ours(srq->context), ibv_modify_srq, "IBVERBS_1.1", srq, attr,
                        mask);
    SOFTRDMA_CHECK_PRESENT(srq->context, EIO);
    return shared_receive_queue::from(srq)->modify(*attr, mask);
}

SOFTRDMA_EXPORT int ibv_query_srq(ibv_srq *srq, ibv_srq_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(srq->context), ibv_query_srq, "IBVERBS_1.1", srq, attr);
    SOFTRDMA_CHECK_USABLE(srq->context, EIO);
    shared_receive_queue::from(srq)->query(*attr);
    return 0;
}

SOFTRDMA_EXPORT int ibv_destroy_srq(ibv_srq *srq)
{
    SOFTRDMA_FORWARD_IF(!is_ours(srq->context), ibv_destroy_srq, "IBVERBS_1.1", srq);
    SOFTRDMA_CHECK_USABLE(srq->context, EIO);
    return shared_receive_queue::from(srq)->destroy();
}

SOFTRDMA_EXPORT ibv_qp *ibv_create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_create_qp, "IBVERBS_1.1", pd, attr);
    SOFTRDMA_CHECK_PRESENT(pd->context, nullptr);
    queue_pair *qp = queue_pair::create(*device_context::from(pd->context), pd, *attr, 0);
    return (qp != nullptr) ? &qp->qp_base : nullptr;
}

SOFTRDMA_EXPORT ibv_qp_ex *ibv_qp_to_qp_ex(ibv_qp *qp)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_qp_to_qp_ex, "IBVERBS_1.6", qp);
    ibv_qp_ex *extended = queue_pair::from(qp);
    return (extended->wr_start != nullptr) ? extended : nullptr;
}

SOFTRDMA_EXPORT int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_modify_qp, "IBVERBS_1.1", qp, attr,
                        mask);
    SOFTRDMA_CHECK_PRESENT(qp->context, EIO);
    return queue_pair::from(qp)->modify(*attr, mask);
}

SOFTRDMA_EXPORT int
ibv_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_query_qp, "IBVERBS_1.1", qp, attr,
                        mask, init);
    SOFTRDMA_CHECK_USABLE(qp->context, EIO);
    queue_pair::from(qp)->query(*attr, init);
    return 0;
}

SOFTRDMA_EXPORT int
ibv_query_qp_data_in_order(ibv_qp *qp, ibv_wr_opcode opcode, uint32_t flags)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_query_qp_data_in_order, "IBVERBS_1.14",
                        qp, opcode, flags);
    return 0; // only the end of the data is ordered
}

SOFTRDMA_EXPORT int ibv_destroy_qp(ibv_qp *qp)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_destroy_qp, "IBVERBS_1.1", qp);
    SOFTRDMA_CHECK_USABLE(qp->context, EIO);
    return queue_pair::from(qp)->destroy();
}

SOFTRDMA_EXPORT int ibv_set_ece(ibv_qp *qp, ibv_ece *ece)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_set_ece, "IBVERBS_1.10", qp, ece);
    return (ece->vendor_id != 0) ? EOPNOTSUPP : 0;
}

SOFTRDMA_EXPORT int ibv_query_ece(ibv_qp *qp, ibv_ece *ece)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_query_ece, "IBVERBS_1.10", qp, ece);
    return EOPNOTSUPP;
}

SOFTRDMA_EXPORT ibv_ah *ibv_create_ah(ibv_pd *pd, ibv_ah_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_create_ah, "IBVERBS_1.1", pd, attr);
    SOFTRDMA_CHECK_PRESENT(pd->context, nullptr);
    process &owner = owner_of(pd->context);
    if (!address_valid(owner, *attr)) {
        errno = EINVAL;
        return nullptr;
    }
    auto *ah    = new application_handle(pd);
    ah->context = pd->context;
    ah->pd      = pd;
    ah->attr    = *attr;
    ah->device  = resolve_address(owner, *attr);
    return ah;
}

SOFTRDMA_EXPORT int ibv_destroy_ah(ibv_ah *ah)
{
    SOFTRDMA_FORWARD_IF(!is_ours(ah->context), ibv_destroy_ah, "IBVERBS_1.1", ah);
    SOFTRDMA_CHECK_USABLE(ah->context, EIO);
    delete static_cast<application_handle *>(address_handle::from(ah));
    return 0;
}

SOFTRDMA_EXPORT int ibv_init_ah_from_wc(ibv_context *context, uint8_t port, ibv_wc *wc,
                                        ibv_grh *grh, ibv_ah_attr *attr)
{
    SOFTRDMA_FORWARD_IF(!is_ours(context), ibv_init_ah_from_wc, "IBVERBS_1.1", context,
                        port, wc, grh, attr);
    SOFTRDMA_CHECK_USABLE(context, -1);
    *attr          = {};
    attr->dlid     = wc->slid;
    attr->sl       = wc->sl;
    attr->port_num = port;
    if ((wc->wc_flags & IBV_WC_GRH) == 0) {
        return 0;
    }
    attr->is_global     = 1;
    attr->grh.hop_limit = 255;
    ibv_gid own{};
    if ((grh->version_tclass_flow & htobe32(0xf0000000)) != 0) {
        own                     = grh->dgid;
        attr->grh.dgid          = grh->sgid;
        uint32_t flow           = be32toh(grh->version_tclass_flow);
        attr->grh.flow_label    = flow & 0xfffff;
        attr->grh.traffic_class = static_cast<uint8_t>(flow >> 20);
    } else {
        // An IPv4 header lies in the second half of the 40 bytes.
        const char *ip = reinterpret_cast<const char *>(grh) + 20;
        own.raw[10] = own.raw[11] = 0xff;
        memcpy(own.raw + 12, ip + 16, 4);
        attr->grh.dgid.raw[10] = attr->grh.dgid.raw[11] = 0xff;
        memcpy(attr->grh.dgid.raw + 12, ip + 12, 4);
        attr->grh.traffic_class = static_cast<uint8_t>(ip[1]);
    }
    device_context &self = *device_context::from(context);
    uint32_t entry       = find_gid(*self.owner, self.device, own);
    if (entry == gids) {
        errno = EINVAL; // it was not for this port
        return -1;
    }
    attr->grh.sgid_index = static_cast<uint8_t>(entry);
    return 0;
}

SOFTRDMA_EXPORT ibv_ah *
ibv_create_ah_from_wc(ibv_pd *pd, ibv_wc *wc, ibv_grh *grh, uint8_t port)
{
    SOFTRDMA_FORWARD_IF(!is_ours(pd->context), ibv_create_ah_from_wc, "IBVERBS_1.1", pd,
                        wc, grh, port);
    ibv_ah_attr attr;
    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) {
        return nullptr;
    }
    return ibv_create_ah(pd, &attr);
}

SOFTRDMA_EXPORT int ibv_attach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_attach_mcast, "IBVERBS_1.1", qp, gid,
                        lid);
    return EOPNOTSUPP; // max_mcast_grp is 0
}

SOFTRDMA_EXPORT int ibv_detach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t lid)
{
    SOFTRDMA_FORWARD_IF(!is_ours(qp->context), ibv_detach_mcast, "IBVERBS_1.1", qp, gid,
                        lid);
    return EOPNOTSUPP;
}
