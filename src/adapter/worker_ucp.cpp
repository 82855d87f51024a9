// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker does with UCP: endpoints, and messages in both directions.
#include "adapter/worker.hpp"

#include <cstring>

#include <sys/eventfd.h>
#include <unistd.h>

namespace be::adapter {

namespace {

// Below, a copy is cheaper than to replace the transport's buffer.
constexpr size_t copy_limit = 1024;

static_assert(sizeof(iovec) == sizeof(ucp_dt_iov_t));
static_assert(offsetof(iovec, iov_base) == offsetof(ucp_dt_iov_t, buffer));
static_assert(offsetof(iovec, iov_len) == offsetof(ucp_dt_iov_t, length));

// Received data that stays in the transport's buffer until nobody needs it.
struct Descriptor : Posted {
    Descriptor(std::shared_ptr<Worker> owner, void *kept) :
        Posted(&release), worker(std::move(owner)), data(kept)
    {
    }
    static void release(Posted &item)
    {
        std::unique_ptr<Descriptor> self(static_cast<Descriptor *>(&item));
        ucp_am_data_release(self->worker->handle(), self->data);
    }
    // Whoever has the lock has a reference of his own: a worker never ends under it.
    static void drop(Descriptor *descriptor)
    {
        const auto worker = descriptor->worker;
        worker->post(*descriptor);
    }
    std::shared_ptr<Worker> worker;
    void *data;
};

} // namespace

Worker::Worker(std::shared_ptr<Context> context, const RuntimeOptions &options) :
    m_context(std::move(context)), m_options(options)
{
    ucp_worker_params_t params{};
    params.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    require(ucp_worker_create(m_context->handle(), &params, &m_worker),
            "UCX cannot create a worker");

    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id    = wire::active_message;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.arg   = this;
    handler.cb    = [](void *arg, const void *header, size_t header_length, void *data,
                    size_t length, const ucp_am_recv_param_t *param) {
        return static_cast<Worker *>(arg)->on_active_message(header, header_length, data,
                                                                length, param);
    };
    ucs_status_t status = ucp_worker_set_am_recv_handler(m_worker, &handler);
    if (status == UCS_OK) {
        status = ucp_worker_get_efd(m_worker, &m_transport_fd);
    }
    if (status == UCS_OK) {
        m_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        status    = (m_wake_fd < 0) ? UCS_ERR_NO_RESOURCE : UCS_OK;
    }
    if (status != UCS_OK) {
        ucp_worker_destroy(m_worker);
        require(status, "UCX cannot prepare a worker for sleeping");
    }
}

Worker::~Worker()
{
    stop();
    if (!listeners.empty()) {
        // See Listener: those who have connected say who they are within this time.
        for (const auto &listener : listeners) {
            listener->deafen();
        }
        const Clock::time_point until = Clock::now() + std::chrono::milliseconds(30);
        while (Clock::now() < until) {
            ucp_worker_progress(m_worker);
        }
        listeners.clear();
    }
    ucp_worker_destroy(m_worker);
    ::close(m_wake_fd);
}

std::string
Worker::connect(const std::shared_ptr<Endpoint> &endpoint, ucp_ep_params_t &params)
{
    if (stopped()) {
        return "the runtime is closed";
    }
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER |
                         UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = endpoint.get();
    params.err_handler.cb  = [](void *arg, ucp_ep_h, ucs_status_t why) {
        auto *failed = static_cast<Endpoint *>(arg);
        failed->worker().fail(*failed, ucs_status_string(why));
    };
    const ucs_status_t status = ucp_ep_create(m_worker, &params, &endpoint->m_ep);
    if (status != UCS_OK) {
        return ucs_status_string(status);
    }
    endpoint->m_open = true;
    m_endpoints.emplace(endpoint->m_ep, endpoint);
    return {};
}

// Not by UCP's own graceful way: once that is begun, nothing can end it when the peer
// does not answer.
void Worker::close(Endpoint &endpoint)
{
    if (!endpoint.m_open) {
        return;
    }
    auto keep = endpoint.shared_from_this();
    m_endpoints.erase(endpoint.m_ep);
    endpoint.m_open = false;
    m_leaving.insert(keep);

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = &endpoint;
    param.cb.send      = [](void *request, ucs_status_t, void *data) {
        auto *flushed = static_cast<Endpoint *>(data);
        ucp_request_free(request);
        flushed->worker().m_flushed.push_back(flushed->shared_from_this());
    };
    if (!UCS_PTR_IS_PTR(ucp_ep_flush_nbx(endpoint.m_ep, &param))) {
        m_flushed.push_back(std::move(keep));
    }
}

void Worker::fail(Endpoint &endpoint, const std::string &why)
{
    if (endpoint.m_open) {
        m_failed.emplace_back(endpoint.shared_from_this(), why);
    }
}

void Worker::fail_all(const std::string &why)
{
    for (const auto &[handle, endpoint] : m_endpoints) {
        m_failed.emplace_back(endpoint, why);
    }
}

// Not from UCP's callbacks, where an endpoint must not be closed.
unsigned Worker::bury()
{
    unsigned count = 0;

    while (!m_failed.empty()) {
        auto [endpoint, why] = std::move(m_failed.back());
        m_failed.pop_back();
        if (!endpoint->m_open) {
            continue; // failed twice
        }
        m_endpoints.erase(endpoint->m_ep);
        destroy(*endpoint);
        counters.failures.fetch_add(1, std::memory_order_relaxed);
        endpoint->on_failure(why);
        count++;
    }
    while (!m_flushed.empty()) {
        const auto endpoint = std::move(m_flushed.back());
        m_flushed.pop_back();
        if (m_leaving.erase(endpoint) != 0) {
            destroy(*endpoint);
        }
        count++;
    }
    return count;
}

void Worker::destroy(Endpoint &endpoint)
{
    auto *keep = new std::shared_ptr<Endpoint>(endpoint.shared_from_this());

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags     = UCP_EP_CLOSE_FLAG_FORCE;
    param.user_data = keep;
    param.cb.send   = [](void *request, ucs_status_t, void *data) {
        std::unique_ptr<std::shared_ptr<Endpoint>> kept(
                  static_cast<std::shared_ptr<Endpoint> *>(data));
        (*kept)->worker().m_closing--;
        (*kept)->on_closed();
        ucp_request_free(request);
    };
    endpoint.m_open          = false;
    const ucs_status_ptr_t p = ucp_ep_close_nbx(endpoint.m_ep, &param);
    if (UCS_PTR_IS_PTR(p)) {
        m_closing++;
    } else {
        delete keep;
        endpoint.on_closed();
    }
}

void Worker::send(Endpoint &endpoint, Outgoing &out)
{
    if (!endpoint.m_open) {
        out.done(out, UCS_ERR_CONNECTION_RESET);
        return;
    }
    const std::span<const iovec> parts = out.body.parts();
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE |
                         UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.flags       = UCP_AM_SEND_FLAG_REPLY;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    param.user_data   = &out;
    param.cb.send     = [](void *request, ucs_status_t status, void *data) {
        auto *sent = static_cast<Outgoing *>(data);
        ucp_request_free(request);
        sent->done(*sent, status);
    };
    const void *buffer = nullptr;
    size_t count       = 0;
    param.datatype     = ucp_dt_make_contig(1);
    if (parts.size() == 1) {
        buffer = parts[0].iov_base;
        count  = parts[0].iov_len;
    } else if (parts.size() > 1) {
        param.datatype = ucp_dt_make_iov();
        buffer         = parts.data();
        count          = parts.size();
    }
    counters.sent.fetch_add(1, std::memory_order_relaxed);
    const ucs_status_ptr_t p = ucp_am_send_nbx(endpoint.m_ep, wire::active_message,
                                               out.header.data(), out.header_size, buffer,
                                               count, &param);
    if (!UCS_PTR_IS_PTR(p)) {
        out.done(out, UCS_PTR_STATUS(p));
    }
}

void Worker::receive(Incoming &message, void *to, Received done)
{
    auto *keep = new Received(std::move(done));

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    param.user_data   = keep;
    param.cb.recv_am  = [](void *request, ucs_status_t status, size_t, void *data) {
        std::unique_ptr<Received> kept(static_cast<Received *>(data));
        ucp_request_free(request);
        (*kept)(status);
    };
    message.taken            = true;
    const ucs_status_ptr_t p = ucp_am_recv_data_nbx(m_worker, message.data, to,
                                                    message.length, &param);
    if (!UCS_PTR_IS_PTR(p)) {
        std::unique_ptr<Received> kept(keep);
        (*kept)(UCS_PTR_STATUS(p));
    }
}

Body Worker::keep(Incoming &message)
{
    const std::span bytes(static_cast<const std::byte *>(message.data), message.length);

    if (!message.keepable || (message.length <= copy_limit)) {
        return Body::copy(bytes);
    }
    message.taken = true;
    return {std::shared_ptr<Descriptor>(new Descriptor(shared_from_this(), message.data),
                                        &Descriptor::drop),
            bytes};
}

ucs_status_t Worker::on_active_message(const void *header, size_t header_length,
                                       void *data, size_t length,
                                       const ucp_am_recv_param_t *param)
{
    const auto at = ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0) ?
                            m_endpoints.find(param->reply_ep) :
                            m_endpoints.end();
    if (at == m_endpoints.end()) {
        return UCS_OK; // of a connection that is closed already
    }
    counters.received.fetch_add(1, std::memory_order_relaxed);

    const auto endpoint = at->second;
    const char *why     = nullptr;
    const auto decoded  = wire::decode({static_cast<const std::byte *>(header),
                                       (header == nullptr) ? 0 : header_length},
                                       &why);
    Incoming message;
    if (decoded) {
        message.header   = *decoded;
        message.data     = data;
        message.length   = length;
        message.remote   = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
        message.keepable = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
        why              = endpoint->on_message(message);
    }
    if (why != nullptr) {
        counters.violations.fetch_add(1, std::memory_order_relaxed);
        fail(*endpoint, std::string("protocol violated by the other side: ") + why);
    }
    return message.taken ? UCS_INPROGRESS : UCS_OK;
}

} // namespace be::adapter
