// SPDX-License-Identifier: BSD-3-Clause
//
// A UCP listener, which outlives the servers that use it one after the other.
//
// UCX's connection manager over TCP (seen in 1.13) uses a listener after it was destroyed
// when a client has connected but not yet said who it is. So a listener is destroyed only
// together with its worker, and deaf for a moment before. Until then it keeps its port, rejects clients while no server
// uses it, and is taken over by the next server with that address.
#pragma once

#include "adapter/address.hpp"

#include <functional>
#include <string>

#include <ucp/api/ucp.h>

namespace be::adapter {

class Worker;

class Listener {
public:
    // Takes the request over, or returns false to have it rejected.
    using Accept = std::function<bool(ucp_conn_request_h)>;

    // Throws Error naming the address. Under the worker's lock, all.
    Listener(Worker &worker, const Address &address);
    ~Listener();
    Listener(const Listener &)            = delete;
    Listener &operator=(const Listener &) = delete;

    // What is accepted from now on; nullptr: nothing.
    void use(Accept accept)
    {
        m_accept = std::move(accept);
    }

    // A server asks for `wanted` (perhaps with port 0): can it have this one?
    bool fits(const Address &wanted) const;

    // Lets the kernel drop what wants to connect from now on, so that a moment later nobody
    // is between having connected and having said who he is.
    void deafen() noexcept;

    const std::string &address() const noexcept
    {
        return m_address;
    }

private:
    void on_request(ucp_conn_request_h request);

    ucp_listener_h m_listener = nullptr;
    std::string m_address; // with the port that was chosen
    Accept m_accept;
};

} // namespace be::adapter
