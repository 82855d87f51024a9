// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/queue_pair.hpp"

#include "verbs/error.hpp"

#include <cerrno>

namespace be::verbs {
namespace {

// Encoded 0.01 ms, the shortest: 0 would mean 655 ms. Never used while flow control
// holds.
constexpr uint8_t min_rnr_timer = 1;

// Below this many bytes inline sends are not worth a further attempt.
constexpr unsigned smallest_inline = 16;

constexpr uint32_t psn_mask = 0xffffff;

std::string describe(const ibv_qp_cap &cap)
{
    return "sends " + std::to_string(cap.max_send_wr) + ", receives " +
           std::to_string(cap.max_recv_wr) + ", send entries " +
           std::to_string(cap.max_send_sge) + ", inline " +
           std::to_string(cap.max_inline_data);
}

// Tries with less and less inline data; `init.cap` becomes what the device gave.
ibv_qp *create(const Context &context, const ProtectionDomain &pd, ibv_qp_init_attr &init)
{
    const ibv_qp_cap wanted = init.cap;
    unsigned max_inline     = wanted.max_inline_data;
    for (;;) {
        init.cap                 = wanted; // a failed attempt may have changed it
        init.cap.max_inline_data = max_inline;

        errno       = 0;
        ibv_qp *qp  = context.table().create_qp(pd.get(), &init);
        const int e = (errno != 0) ? errno : ENOMEM;
        if (qp != nullptr) {
            return qp;
        }

        if (max_inline == 0) {
            const ibv_device_attr &limits = context.attributes();
            throw Error(context.device(), "ibv_create_qp", "type RC, " + describe(wanted),
                        e,
                        "the device has up to " + std::to_string(limits.max_qp_wr) +
                                " work requests a queue, " +
                                std::to_string(limits.max_sge) + " entries each, " +
                                std::to_string(limits.max_qp) + " queue pairs");
        }
        max_inline = (max_inline > smallest_inline) ? (max_inline / 2) : 0;
    }
}

std::string describe(const ibv_qp_attr &attributes, int mask)
{
    std::string text;
    if (mask & IBV_QP_PORT) {
        text += ", port " + std::to_string(attributes.port_num);
    }
    if (mask & IBV_QP_DEST_QPN) {
        text += ", remote queue pair " + std::to_string(attributes.dest_qp_num) +
                ", LID " + std::to_string(attributes.ah_attr.dlid) + ", GID index " +
                std::to_string(attributes.ah_attr.grh.sgid_index) +
                (attributes.ah_attr.is_global ? " used" : " unused") + ", MTU code " +
                std::to_string(attributes.path_mtu) + ", remote reads " +
                std::to_string(attributes.max_dest_rd_atomic);
    }
    if (mask & IBV_QP_RETRY_CNT) {
        text += ", timeout " + std::to_string(attributes.timeout) + ", retries " +
                std::to_string(attributes.retry_cnt) + ", reads " +
                std::to_string(attributes.max_rd_atomic);
    }
    return text;
}

std::string modify_hint(int error)
{
    switch (error) {
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "the peer's address could not be resolved from the chosen GID: is it on "
               "the same "
               "network?";
    default:
        return {};
    }
}

} // namespace

QueuePair::QueuePair(const Context &context, const ProtectionDomain &pd,
                     const CompletionQueue &send_cq, const CompletionQueue &receive_cq,
                     const SharedReceiveQueue *srq, const QueuePairCapacity &capacity)
{
    ibv_qp_init_attr init    = {};
    init.send_cq             = send_cq.get();
    init.recv_cq             = receive_cq.get();
    init.srq                 = (srq != nullptr) ? srq->get() : nullptr;
    init.qp_type             = IBV_QPT_RC;
    init.sq_sig_all          = 0;
    init.cap.max_send_wr     = capacity.max_sends;
    init.cap.max_recv_wr     = (srq != nullptr) ? 0 : capacity.max_receives;
    init.cap.max_send_sge    = capacity.max_send_sge;
    init.cap.max_recv_sge    = (srq != nullptr) ? 0 : capacity.max_receive_sge;
    init.cap.max_inline_data = capacity.max_inline;

    m_handle                   = {context.table(), create(context, pd, init)};
    m_capacity.max_sends       = init.cap.max_send_wr;
    m_capacity.max_receives    = init.cap.max_recv_wr;
    m_capacity.max_send_sge    = init.cap.max_send_sge;
    m_capacity.max_receive_sge = init.cap.max_recv_sge;
    m_capacity.max_inline      = init.cap.max_inline_data;
}

void QueuePair::modify(ibv_qp_attr &attributes, int mask, const char *target)
{
    const Table &table = m_handle.table();
    const int error    = error_of(table.modify_qp(m_handle.get(), &attributes, mask));
    if (error != 0) {
        throw Error(device_name(table, m_handle->context), "ibv_modify_qp",
                    "queue pair " + std::to_string(number()) + " to " + target +
                            describe(attributes, mask),
                    error, modify_hint(error));
    }
}

void QueuePair::to_init(uint8_t port, unsigned access)
{
    ibv_qp_attr attributes     = {};
    attributes.qp_state        = IBV_QPS_INIT;
    attributes.port_num        = port;
    attributes.pkey_index      = 0;
    attributes.qp_access_flags = access;
    modify(attributes,
           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "init");
}

void QueuePair::to_rtr(const RemoteEnd &remote, const LocalEnd &local)
{
    ibv_qp_attr attributes        = {};
    attributes.qp_state           = IBV_QPS_RTR;
    attributes.path_mtu           = local.mtu;
    attributes.dest_qp_num        = remote.qpn;
    attributes.rq_psn             = remote.psn & psn_mask;
    attributes.max_dest_rd_atomic = local.max_dest_rd_atomic;
    attributes.min_rnr_timer      = min_rnr_timer;
    attributes.ah_attr.dlid       = remote.lid;
    attributes.ah_attr.sl         = local.service_level;
    attributes.ah_attr.port_num   = local.port;
    if (local.global) {
        attributes.ah_attr.is_global         = 1;
        attributes.ah_attr.grh.dgid          = remote.gid;
        attributes.ah_attr.grh.sgid_index    = static_cast<uint8_t>(local.gid_index);
        attributes.ah_attr.grh.hop_limit     = local.hop_limit;
        attributes.ah_attr.grh.traffic_class = local.traffic_class;
    }
    modify(attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
           "ready to receive");
}

void QueuePair::to_rts(const SendLimits &limits)
{
    ibv_qp_attr attributes   = {};
    attributes.qp_state      = IBV_QPS_RTS;
    attributes.sq_psn        = limits.psn & psn_mask;
    attributes.timeout       = limits.timeout;
    attributes.retry_cnt     = limits.retry_count;
    attributes.rnr_retry     = 0;
    attributes.max_rd_atomic = limits.max_rd_atomic;
    modify(attributes,
           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
           "ready to send");
}

int QueuePair::to_error() noexcept
{
    ibv_qp_attr attributes = {};
    attributes.qp_state    = IBV_QPS_ERR;
    return error_of(
            m_handle.table().modify_qp(m_handle.get(), &attributes, IBV_QP_STATE));
}

int QueuePair::to_reset() noexcept
{
    ibv_qp_attr attributes = {};
    attributes.qp_state    = IBV_QPS_RESET;
    return error_of(
            m_handle.table().modify_qp(m_handle.get(), &attributes, IBV_QP_STATE));
}

ibv_qp_state QueuePair::state() const noexcept
{
    ibv_qp_attr attributes = {};
    ibv_qp_init_attr init  = {};
    const int error = m_handle.table().query_qp(m_handle.get(), &attributes, IBV_QP_STATE,
                                                &init);
    return (error == 0) ? attributes.qp_state : IBV_QPS_UNKNOWN;
}

} // namespace be::verbs
