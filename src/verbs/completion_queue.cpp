// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/completion_queue.hpp"

#include "verbs/descriptor.hpp"
#include "verbs/error.hpp"

#include <cerrno>

namespace be::verbs {
namespace {

ibv_comp_channel *create_channel(const Context &context)
{
    errno                     = 0;
    ibv_comp_channel *channel = context.table().create_comp_channel(context.get());
    if (channel == nullptr) {
        throw Error(context.device(), "ibv_create_comp_channel", "",
                    (errno != 0) ? errno : ENOMEM);
    }
    return channel;
}

ibv_cq *
create_queue(const Context &context, unsigned entries, const CompletionChannel *channel)
{
    const int limit = context.attributes().max_cqe;
    ibv_cq *cq      = nullptr;
    errno           = EINVAL;
    if (entries <= static_cast<unsigned>(limit)) {
        errno = 0;
        cq = context.table().create_cq(context.get(), static_cast<int>(entries), nullptr,
                                       (channel != nullptr) ? channel->get() : nullptr,
                                       0);
    }
    if (cq == nullptr) {
        throw Error(context.device(), "ibv_create_cq",
                    "entries " + std::to_string(entries), (errno != 0) ? errno : ENOMEM,
                    "the device has up to " + std::to_string(limit) + " entries a queue");
    }
    return cq;
}

} // namespace

CompletionChannel::CompletionChannel(const Context &context) :
    m_handle(context.table(), create_channel(context))
{
    const int error = set_nonblocking(fd());
    if (error != 0) {
        throw Error(context.device(), "fcntl", "descriptor of a completion channel",
                    error);
    }
}

unsigned CompletionChannel::acknowledge() noexcept
{
    const Table &table = m_handle.table();
    unsigned count     = 0;
    ibv_cq *cq         = nullptr;
    void *cookie       = nullptr;
    while (table.get_cq_event(m_handle.get(), &cq, &cookie) == 0) {
        table.ack_cq_events(cq, 1);
        ++count;
    }
    return count;
}

CompletionQueue::CompletionQueue(const Context &context, unsigned entries,
                                 const CompletionChannel *channel) :
    m_handle(context.table(), create_queue(context, entries, channel)),
    m_set_yield(context.table().cq_set_yield)
{
}

const char *to_string(ibv_wc_status status) noexcept
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return "success";
    case IBV_WC_LOC_LEN_ERR:
        return "local length error";
    case IBV_WC_LOC_QP_OP_ERR:
        return "local queue pair operation error";
    case IBV_WC_LOC_EEC_OP_ERR:
        return "local end-to-end context operation error";
    case IBV_WC_LOC_PROT_ERR:
        return "local protection error";
    case IBV_WC_WR_FLUSH_ERR:
        return "work request flushed";
    case IBV_WC_MW_BIND_ERR:
        return "memory window bind error";
    case IBV_WC_BAD_RESP_ERR:
        return "bad response";
    case IBV_WC_LOC_ACCESS_ERR:
        return "local access error";
    case IBV_WC_REM_INV_REQ_ERR:
        return "remote invalid request";
    case IBV_WC_REM_ACCESS_ERR:
        return "remote access error";
    case IBV_WC_REM_OP_ERR:
        return "remote operation error";
    case IBV_WC_RETRY_EXC_ERR:
        return "transport retry counter exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "receiver-not-ready retry counter exceeded";
    case IBV_WC_LOC_RDD_VIOL_ERR:
        return "local reliable datagram domain violation";
    case IBV_WC_REM_INV_RD_REQ_ERR:
        return "remote invalid reliable datagram request";
    case IBV_WC_REM_ABORT_ERR:
        return "remote aborted";
    case IBV_WC_INV_EECN_ERR:
        return "invalid end-to-end context number";
    case IBV_WC_INV_EEC_STATE_ERR:
        return "invalid end-to-end context state";
    case IBV_WC_FATAL_ERR:
        return "fatal device error";
    case IBV_WC_RESP_TIMEOUT_ERR:
        return "response timeout";
    case IBV_WC_GENERAL_ERR:
        return "general error";
    default:
        return "unknown status";
    }
}

} // namespace be::verbs
