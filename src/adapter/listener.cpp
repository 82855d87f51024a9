// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/listener.hpp"

#include "adapter/worker.hpp"

#include <cstdlib>
#include <filesystem>

#include <linux/filter.h>
#include <sys/socket.h>

namespace be::adapter {

Listener::Listener(Worker &worker, const Address &address)
{
    const std::string what = "ServerOptions::address '" + to_string(address.storage) +
                             "': cannot listen";
    ucp_listener_params_t params{};

    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                        UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr.addr    = address.get();
    params.sockaddr.addrlen = address.length;
    params.conn_handler.arg = this;
    params.conn_handler.cb  = [](ucp_conn_request_h request, void *arg) {
        static_cast<Listener *>(arg)->on_request(request);
    };
    require(ucp_listener_create(worker.handle(), &params, &m_listener), what);

    ucp_listener_attr_t attributes{};
    attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    require(ucp_listener_query(m_listener, &attributes), what);
    m_address = to_string(attributes.sockaddr);
}

Listener::~Listener()
{
    if (m_listener != nullptr) {
        ucp_listener_destroy(m_listener);
    }
}

bool Listener::fits(const Address &wanted) const
{
    const std::string text = to_string(wanted.storage);
    const bool same_host   = m_address.substr(0, m_address.rfind(':')) ==
                           text.substr(0, text.rfind(':'));
    return !m_accept && ((text == m_address) || (same_host && text.ends_with(":0")));
}

// UCX does not tell which socket it listens on: it is the one that has this address.
void Listener::deafen() noexcept
{
    sock_filter nothing      = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program = {1, &nothing};
    std::error_code error;

    for (const auto &entry :
         std::filesystem::directory_iterator("/proc/self/fd", error)) {
        const int fd        = std::atoi(entry.path().filename().c_str());
        int listens         = 0;
        socklen_t length    = sizeof(listens);
        sockaddr_storage at = {};
        socklen_t at_length = sizeof(at);
        if ((getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0) &&
            (listens != 0) &&
            (getsockname(fd, reinterpret_cast<sockaddr *>(&at), &at_length) == 0) &&
            (to_string(at) == m_address)) {
            setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
        }
    }
}

void Listener::on_request(ucp_conn_request_h request)
{
    if (!m_accept || !m_accept(request)) {
        ucp_listener_reject(m_listener, request);
    }
}

} // namespace be::adapter
