// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker does with UCP: messages in both directions.
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

Worker::Worker(std::shared_ptr<Context> context, const RuntimeOptions &options,
               std::shared_ptr<exchange::Loop> loop, exchange::Secret secret) :
    m_context(std::move(context)),
    m_options(options),
    m_loop(std::move(loop)),
    m_secret(secret)
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
    ucp_address_t *address = nullptr;
    size_t length          = 0;
    ucs_status_t status    = ucp_worker_set_am_recv_handler(m_worker, &handler);
    if (status == UCS_OK) {
        status = ucp_worker_get_address(m_worker, &address, &length);
    }
    if (status == UCS_OK) {
        const auto *bytes = reinterpret_cast<const std::byte *>(address);
        m_address.assign(bytes, bytes + length);
        ucp_worker_release_address(m_worker, address);
    }
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
    ucp_worker_destroy(m_worker);
    ::close(m_wake_fd);
}

void Worker::send(Endpoint &endpoint, Outgoing &out)
{
    if (!endpoint.m_open || (endpoint.m_ep == nullptr)) {
        out.done(out, UCS_ERR_CONNECTION_RESET);
        return;
    }
    const std::span<const iovec> parts = out.body.parts();
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
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
    counters.sent.add();
    const ucs_status_ptr_t p = ucp_am_send_nbx(endpoint.m_ep, wire::active_message,
                                               out.header().data(), out.header().size(),
                                               buffer, count, &param);
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
    const char *why    = nullptr;
    const auto decoded = wire::decode({static_cast<const std::byte *>(header),
                                       (header == nullptr) ? 0 : header_length},
                                      &why);
    if (!decoded) {
        // whose it is cannot be told: UCP knows workers, not connections
        counters.violations.add();
        return UCS_OK;
    }
    const auto at = m_endpoints.find(decoded->connection);
    if (at == m_endpoints.end()) {
        return UCS_OK; // of a connection that is closed already
    }
    counters.received.add();

    // Lives on when it is closed in there: bury() comes later.
    Endpoint &endpoint = *at->second;
    Incoming message;
    message.header   = *decoded;
    message.data     = data;
    message.length   = length;
    message.remote   = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    message.keepable = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    why              = endpoint.on_message(message);
    if (why != nullptr) {
        counters.violations.add();
        fail(endpoint, std::string("protocol violated by the other side: ") + why);
    }
    return message.taken ? UCS_INPROGRESS : UCS_OK;
}

} // namespace be::adapter
