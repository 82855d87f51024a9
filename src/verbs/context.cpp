// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/context.hpp"

#include "verbs/descriptor.hpp"
#include "verbs/error.hpp"

#include <cerrno>
#include <cstring>

namespace be::verbs {
namespace {

ibv_context *open_by_name(const Table &table, const std::string &name)
{
    int count            = 0;
    ibv_device **list    = table.get_device_list(&count);
    const int list_error = errno;
    if (list == nullptr) {
        throw Error(name, "ibv_get_device_list", "", list_error,
                    "no RDMA support in the kernel, or no access to it");
    }

    std::string others;
    ibv_context *context = nullptr;
    bool found           = false;
    int open_error       = 0;
    for (int i = 0; (i < count) && !found; ++i) {
        const char *listed = table.get_device_name(list[i]);
        found              = (name == listed);
        if (found) {
            errno      = 0;
            context    = table.open_device(list[i]);
            open_error = (errno != 0) ? errno : EIO;
        } else {
            others += (others.empty() ? "" : ", ");
            others += listed;
        }
    }
    table.free_device_list(list);

    if (!found) {
        throw Error(name, "ibv_open_device", "", ENODEV,
                    "the devices of " + table.library +
                            " are: " + (others.empty() ? "none" : others));
    }
    if (context == nullptr) {
        throw Error(name, "ibv_open_device", "", open_error,
                    (open_error == EACCES) || (open_error == EPERM) ?
                            "no right to open its file in /dev/infiniband" :
                            "");
    }
    return context;
}

AsyncEvent::Subject subject_of(ibv_event_type type)
{
    switch (type) {
    case IBV_EVENT_CQ_ERR:
        return AsyncEvent::Subject::completion_queue;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return AsyncEvent::Subject::queue_pair;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return AsyncEvent::Subject::shared_receive_queue;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return AsyncEvent::Subject::port;
    default:
        return AsyncEvent::Subject::device;
    }
}

AsyncEvent::Kind kind_of(ibv_event_type type)
{
    switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: // all that one with shared receives says, having no receives to flush
        return AsyncEvent::Kind::queue_pair_failed;
    case IBV_EVENT_PORT_ERR:
        return AsyncEvent::Kind::port_down;
    case IBV_EVENT_PORT_ACTIVE:
        return AsyncEvent::Kind::port_up;
    case IBV_EVENT_DEVICE_FATAL:
        return AsyncEvent::Kind::device_failed;
    default:
        return AsyncEvent::Kind::other;
    }
}

} // namespace

Context::Context(const Table &table, const std::string &device) :
    m_handle(table, open_by_name(table, device)), m_device(device)
{
    const int error = error_of(table.query_device(m_handle.get(), &m_attributes));
    if (error != 0) {
        throw Error(device, "ibv_query_device", "", error);
    }
}

ibv_port_attr Context::port(uint8_t port) const
{
    ibv_port_attr attributes;
    const int error = error_of(query_port(table(), get(), port, &attributes));
    if (error != 0) {
        throw Error(m_device, "ibv_query_port", "port " + std::to_string(port), error);
    }
    return attributes;
}

AsyncEvents::AsyncEvents(const Context &context) :
    m_table(&context.table()), m_context(context.get())
{
    const int error = set_nonblocking(m_context->async_fd);
    if (error != 0) {
        throw Error(context.device(), "fcntl", "descriptor of the device's events",
                    error);
    }
}

int AsyncEvents::fd() const noexcept
{
    return m_context->async_fd;
}

std::optional<AsyncEvent> AsyncEvents::next() noexcept
{
    ibv_async_event event;
    if (m_table->get_async_event(m_context, &event) != 0) {
        return std::nullopt;
    }

    AsyncEvent result = {};
    result.type       = event.event_type;
    result.kind       = kind_of(event.event_type);
    result.subject    = subject_of(event.event_type);
    result.text       = to_string(event.event_type);
    switch (result.subject) {
    case AsyncEvent::Subject::completion_queue:
        result.object = event.element.cq;
        break;
    case AsyncEvent::Subject::queue_pair:
        result.object = event.element.qp;
        result.qpn    = event.element.qp->qp_num;
        break;
    case AsyncEvent::Subject::shared_receive_queue:
        result.object = event.element.srq;
        break;
    case AsyncEvent::Subject::port:
        result.port = static_cast<uint8_t>(event.element.port_num);
        break;
    case AsyncEvent::Subject::device:
        break;
    }
    m_table->ack_async_event(&event);
    return result;
}

const char *to_string(ibv_event_type type) noexcept
{
    switch (type) {
    case IBV_EVENT_CQ_ERR:
        return "completion queue error";
    case IBV_EVENT_QP_FATAL:
        return "queue pair failed";
    case IBV_EVENT_QP_REQ_ERR:
        return "queue pair: invalid request";
    case IBV_EVENT_QP_ACCESS_ERR:
        return "queue pair: access violation";
    case IBV_EVENT_COMM_EST:
        return "queue pair: communication established";
    case IBV_EVENT_SQ_DRAINED:
        return "queue pair: send queue drained";
    case IBV_EVENT_PATH_MIG:
        return "queue pair: path migrated";
    case IBV_EVENT_PATH_MIG_ERR:
        return "queue pair: path migration failed";
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return "queue pair: last receive consumed";
    case IBV_EVENT_DEVICE_FATAL:
        return "device failed";
    case IBV_EVENT_PORT_ACTIVE:
        return "port active";
    case IBV_EVENT_PORT_ERR:
        return "port down";
    case IBV_EVENT_LID_CHANGE:
        return "port: LID changed";
    case IBV_EVENT_PKEY_CHANGE:
        return "port: partition keys changed";
    case IBV_EVENT_SM_CHANGE:
        return "port: subnet manager changed";
    case IBV_EVENT_CLIENT_REREGISTER:
        return "port: subnet manager asks for registration";
    case IBV_EVENT_GID_CHANGE:
        return "port: GIDs changed";
    case IBV_EVENT_SRQ_ERR:
        return "shared receive queue error";
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return "shared receive queue below its limit";
    default:
        return "unknown event";
    }
}

const char *device_name(const Table &table, const ibv_context *context) noexcept
{
    const char *name = table.get_device_name(context->device);
    return (name != nullptr) ? name : "?";
}

} // namespace be::verbs
