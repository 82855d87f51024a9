// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/shared_receive_queue.hpp"

#include "verbs/error.hpp"

#include <cerrno>

namespace be::verbs {
namespace {

ibv_srq *
create(const Context &context, const ProtectionDomain &pd, ibv_srq_init_attr &attributes)
{
    errno        = 0;
    ibv_srq *srq = context.table().create_srq(pd.get(), &attributes);
    if (srq == nullptr) {
        const ibv_device_attr &limits = context.attributes();
        throw Error(context.device(), "ibv_create_srq",
                    "receives " + std::to_string(attributes.attr.max_wr) +
                            ", entries each " + std::to_string(attributes.attr.max_sge),
                    (errno != 0) ? errno : ENOMEM,
                    "the device has up to " + std::to_string(limits.max_srq_wr) +
                            " receives a queue, " + std::to_string(limits.max_srq_sge) +
                            " entries each, " + std::to_string(limits.max_srq) +
                            " queues");
    }
    return srq;
}

} // namespace

SharedReceiveQueue::SharedReceiveQueue(const Context &context, const ProtectionDomain &pd,
                                       unsigned max_receives, unsigned max_sge)
{
    ibv_srq_init_attr attributes = {};
    attributes.attr.max_wr       = max_receives;
    attributes.attr.max_sge      = max_sge;

    m_handle       = {context.table(), create(context, pd, attributes)};
    m_max_receives = attributes.attr.max_wr; // the library stores what it gave
}

void SharedReceiveQueue::set_limit(unsigned limit)
{
    ibv_srq_attr attributes = {};
    attributes.srq_limit    = limit;

    const Table &table = m_handle.table();
    const int error    = error_of(
               table.modify_srq(m_handle.get(), &attributes, IBV_SRQ_LIMIT));
    if (error != 0) {
        throw Error(device_name(table, m_handle->context), "ibv_modify_srq",
                    "limit " + std::to_string(limit), error);
    }
}

} // namespace be::verbs
