// SPDX-License-Identifier: BSD-3-Clause
#include "node.hpp"

#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <sched.h>
#include <stdexcept>

namespace be::test {

namespace {

using Clock = std::chrono::steady_clock;

/* So many empty rounds of polling before the processor goes to the other process. */
constexpr unsigned EMPTY_ROUNDS = 200;

double seconds_since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

void check(ucs_status_t status, const std::string &call)
{
    if (status != UCS_OK) {
        throw std::runtime_error(call + ": " + ucs_status_string(status));
    }
}

Node::Node(Channel &channel, const NodeOptions &options) :
    m_channel(channel), m_options(options)
{
    if (!options.net_devices.empty()) {
        ::setenv("UCX_NET_DEVICES", options.net_devices.c_str(), 1);
    }
    ucp_config_t *config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM |
                      UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AMO32;
    if (options.sleep) {
        params.features |= UCP_FEATURE_WAKEUP;
    }
    const ucs_status_t status = ucp_init(&params, config, &m_context);
    ucp_config_release(config);
    check(status, "ucp_init");

    ucp_worker_params_t worker{};
    worker.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(m_context, &worker, &m_worker), "ucp_worker_create");
    if (options.sleep) {
        check(ucp_worker_get_efd(m_worker, &m_event_fd), "ucp_worker_get_efd");
    }
}

Node::~Node()
{
    if (m_ep != nullptr) {
        close(m_ep, true);
    }
    if (m_worker != nullptr) {
        ucp_worker_destroy(m_worker);
    }
    if (m_context != nullptr) {
        ucp_cleanup(m_context);
    }
}

std::string Node::address() const
{
    ucp_address_t *address = nullptr;
    std::size_t length     = 0;
    check(ucp_worker_get_address(m_worker, &address, &length), "ucp_worker_get_address");
    std::string bytes(reinterpret_cast<const char *>(address), length);
    ucp_worker_release_address(m_worker, address);
    return bytes;
}

void Node::on_error(void *arg, ucp_ep_h, ucs_status_t status)
{
    static_cast<Node *>(arg)->m_ep_error = status;
}

ucp_ep_h Node::open(const std::string &address)
{
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = reinterpret_cast<const ucp_address_t *>(address.data());
    if (m_options.errors) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb  = on_error;
        params.err_handler.arg = this;
    }
    ucp_ep_h ep = nullptr;
    check(ucp_ep_create(m_worker, &params, &ep), "ucp_ep_create");
    return ep;
}

void Node::connect()
{
    m_ep = open(exchange(address(), "worker addresses"));
}

void Node::close(ucp_ep_h ep, bool force)
{
    ucp_request_param_t param{};
    param.op_attr_mask        = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags               = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    const ucs_status_t status = wait_status(ucp_ep_close_nbx(ep, &param), "ucp_ep_close");
    if (!force) {
        check(status, "ucp_ep_close");
    }
}

void Node::disconnect()
{
    flush();
    barrier("both flushed");
    ucp_ep_h ep = m_ep;
    m_ep        = nullptr;
    close(ep);
    barrier("both closed");
}

void Node::reconnect()
{
    ucp_ep_h ep = m_ep;
    m_ep        = nullptr;
    close(ep, true);
    m_ep_error = UCS_OK;
    connect();
}

void Node::sleep_until_event(double seconds, bool also_channel)
{
    const ucs_status_t status = ucp_worker_arm(m_worker);
    if (status == UCS_ERR_BUSY) {
        return;
    }
    check(status, "ucp_worker_arm");
    pollfd entries[2] = {{m_event_fd, POLLIN, 0}, {m_channel.fd(), POLLIN, 0}};
    ::poll(entries, also_channel ? 2 : 1, static_cast<int>(seconds * 1000));
}

void Node::until(const std::function<bool()> &condition, const std::string &what)
{
    until_either(condition, what, false);
}

void Node::until_either(const std::function<bool()> &condition, const std::string &what,
                        bool also_channel)
{
    const auto start = Clock::now();
    unsigned empty   = 0;
    while (!condition()) {
        if (ucp_worker_progress(m_worker) != 0) {
            empty = 0;
            continue;
        }
        const double left = m_options.patience - seconds_since(start);
        if (left <= 0) {
            throw std::runtime_error(
                    "not within " + std::to_string(static_cast<int>(m_options.patience)) +
                    " s: " + what);
        }
        if (m_options.sleep) {
            sleep_until_event(left, also_channel);
        } else if (++empty >= EMPTY_ROUNDS) {
            empty = 0;
            ::sched_yield();
        }
    }
}

ucs_status_t Node::wait_status(ucs_status_ptr_t request, const std::string &what)
{
    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }
    until([request] { return ucp_request_check_status(request) != UCS_INPROGRESS; },
          what);
    const ucs_status_t status = ucp_request_check_status(request);
    ucp_request_free(request);
    return status;
}

void Node::wait(ucs_status_ptr_t request, const std::string &what)
{
    check(wait_status(request, what), what);
}

void Node::flush()
{
    ucp_request_param_t param{};
    wait(ucp_ep_flush_nbx(m_ep, &param), "ucp_ep_flush");
}

std::string Node::exchange(const std::string &message, const std::string &what)
{
    m_channel.send(message);
    std::optional<std::string> answer;
    const auto arrived = [&] {
        answer = m_channel.try_receive();
        return answer.has_value();
    };
    until_either(arrived, what, true);
    return *answer;
}

void Node::barrier(const std::string &what)
{
    exchange("b", what);
}

SharedMemory::SharedMemory(Node &node, void *address, std::size_t length) : m_node(node)
{
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                        UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.address = address;
    params.length  = length;
    if (address == nullptr) {
        params.flags = UCP_MEM_MAP_ALLOCATE;
    }
    check(ucp_mem_map(node.context(), &params, &m_memory), "ucp_mem_map");
    ucp_mem_attr_t attr{};
    attr.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(m_memory, &attr), "ucp_mem_query");
    m_address = (address == nullptr) ? attr.address : address;
}

SharedMemory::~SharedMemory()
{
    ucp_mem_unmap(m_node.context(), m_memory);
}

std::string SharedMemory::pack() const
{
    void *key          = nullptr;
    std::size_t length = 0;
    check(ucp_rkey_pack(m_node.context(), m_memory, &key, &length), "ucp_rkey_pack");
    std::string packed(reinterpret_cast<const char *>(&m_address), sizeof(m_address));
    packed.append(static_cast<const char *>(key), length);
    ucp_rkey_buffer_release(key);
    return packed;
}

RemoteMemory::RemoteMemory(ucp_ep_h ep, const std::string &packed)
{
    packed.copy(reinterpret_cast<char *>(&m_address), sizeof(m_address));
    check(ucp_ep_rkey_unpack(ep, packed.data() + sizeof(m_address), &m_key),
          "ucp_ep_rkey_unpack");
}

RemoteMemory::~RemoteMemory()
{
    ucp_rkey_destroy(m_key);
}

} // namespace be::test
