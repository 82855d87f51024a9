// SPDX-License-Identifier: BSD-3-Clause
#include "load.hpp"

#include <algorithm>

namespace be::test {

namespace {

ucs_status_ptr_t
send_tag(Node &node, void *buffer, std::size_t size, const RemoteMemory *)
{
    ucp_request_param_t param{};
    return ucp_tag_send_nbx(node.ep(), buffer, size, LOAD_TAG, &param);
}

ucs_status_ptr_t send_am(Node &node, void *buffer, std::size_t size, const RemoteMemory *)
{
    ucp_request_param_t param{};
    return ucp_am_send_nbx(node.ep(), LOAD_AM_ID, nullptr, 0, buffer, size, &param);
}

ucs_status_ptr_t
put(Node &node, void *buffer, std::size_t size, const RemoteMemory *remote)
{
    ucp_request_param_t param{};
    return ucp_put_nbx(node.ep(), buffer, size, remote->at(0), remote->key(), &param);
}

ucs_status_ptr_t
get(Node &node, void *buffer, std::size_t size, const RemoteMemory *remote)
{
    ucp_request_param_t param{};
    return ucp_get_nbx(node.ep(), buffer, size, remote->at(0), remote->key(), &param);
}

ucs_status_ptr_t
add(Node &node, void *buffer, std::size_t size, const RemoteMemory *remote)
{
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
    param.reply_buffer = buffer;
    param.datatype     = ucp_dt_make_contig(size);
    const std::uint64_t operand = 1;
    return ucp_atomic_op_nbx(node.ep(), UCP_ATOMIC_OP_ADD, &operand, 1, remote->at(0),
                             remote->key(), &param);
}

constexpr std::size_t KIB = 1024, MIB = 1024 * KIB;

constexpr LoadKind KINDS[] = {
        {"tag_eager", 1000, 256, 5000, false, send_tag},
        {"tag_rndv", MIB, 8, 20, false, send_tag},
        {"am_eager", 1000, 256, 5000, false, send_am},
        {"am_rndv", MIB, 8, 20, false, send_am},
        {"put_small", 64, 256, 2000, true, put},
        {"put_large", 256 * KIB, 16, 50, true, put},
        {"get_small", 64, 64, 2000, true, get},
        {"get_large", 256 * KIB, 16, 50, true, get},
        {"atomic", 8, 16, 500, true, add},
};

/* Receives of the victim: one operation's bytes each. */
class Receiver {
public:
    Receiver(Node &node, std::size_t size) : m_node(node), m_buffer(size)
    {
        ucp_am_handler_param_t param{};
        param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                           UCP_AM_HANDLER_PARAM_FIELD_ARG;
        param.id  = LOAD_AM_ID;
        param.cb  = on_message;
        param.arg = this;
        check(ucp_worker_set_am_recv_handler(node.worker(), &param),
              "ucp_worker_set_am_recv_handler");
    }

    void turn()
    {
        ucp_request_param_t param{};
        while (m_requests.size() < 32) {
            m_requests.push_back(ucp_tag_recv_nbx(m_node.worker(), m_buffer.data(),
                                                  m_buffer.size(), LOAD_TAG,
                                                  ~ucp_tag_t{0}, &param));
        }
        std::erase_if(m_requests, [](ucs_status_ptr_t request) {
            if (!UCS_PTR_IS_PTR(request)) {
                return true;
            }
            if (ucp_request_check_status(request) == UCS_INPROGRESS) {
                return false;
            }
            ucp_request_free(request);
            return true;
        });
    }

private:
    static ucs_status_t on_message(void *arg, const void *, std::size_t, void *data,
                                   std::size_t length, const ucp_am_recv_param_t *param)
    {
        auto *receiver = static_cast<Receiver *>(arg);
        if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
            return UCS_OK;
        }
        ucp_request_param_t receive{};
        const auto request = ucp_am_recv_data_nbx(receiver->m_node.worker(), data,
                                                  receiver->m_buffer.data(), length,
                                                  &receive);
        if (UCS_PTR_IS_PTR(request)) {
            receiver->m_requests.push_back(request);
        }
        return UCS_INPROGRESS;
    }

    Node &m_node;
    std::vector<char> m_buffer;
    std::vector<ucs_status_ptr_t> m_requests;
};

} // namespace

std::span<const LoadKind> load_kinds()
{
    return KINDS;
}

Load::Load(Node &node, const LoadKind &kind) :
    m_node(node), m_kind(kind), m_buffer(kind.size)
{
    const auto packed = node.exchange("load", "the victim's memory key");
    if (kind.remote_memory) {
        m_remote = std::make_unique<RemoteMemory>(node.ep(), packed);
    }
}

Load::~Load() = default;

void Load::count(ucs_status_t status)
{
    ++((status == UCS_OK) ? m_completed : m_failed);
}

void Load::turn()
{
    for (unsigned issued = 0; issued < 64 && m_requests.size() < m_kind.window;
         ++issued) {
        const auto request = m_kind.issue(m_node, m_buffer.data(), m_kind.size,
                                          m_remote.get());
        if (UCS_PTR_IS_PTR(request)) {
            m_requests.push_back(request);
        } else {
            count(UCS_PTR_STATUS(request));
        }
    }
    while (!m_requests.empty() &&
           ucp_request_check_status(m_requests.front()) != UCS_INPROGRESS) {
        count(ucp_request_check_status(m_requests.front()));
        ucp_request_free(m_requests.front());
        m_requests.pop_front();
    }
}

void Load::drain()
{
    while (!m_requests.empty()) {
        count(m_node.wait_status(m_requests.front(),
                                 std::to_string(m_requests.size()) +
                                         " outstanding operations of a dead peer"));
        m_requests.pop_front();
    }
}

void serve(Node &node, const LoadKind &kind)
{
    std::vector<char> memory(kind.size);
    const SharedMemory shared(node, memory.data(), memory.size());
    Receiver receiver(node, kind.size);
    node.exchange(shared.pack(), "the survivor");
    node.until(
            [&] {
                receiver.turn();
                return false;
            },
            "the end, which comes by a signal");
}

} // namespace be::test
