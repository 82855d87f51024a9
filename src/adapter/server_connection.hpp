// SPDX-License-Identifier: BSD-3-Clause
//
// A server's connection to one channel.
#pragma once

#include "adapter/endpoint.hpp"
#include "adapter/exchange/acceptor.hpp"

#include <memory>
#include <unordered_map>

namespace be::adapter {

class RequestState;
class ServerState;

class ServerConnection : public Endpoint {
public:
    ServerConnection(Worker &worker, std::shared_ptr<ServerState> server);

    ServerState &server() const noexcept
    {
        return *m_server;
    }

    // Under the worker's lock, all.

    const char *on_message(Incoming &message) override;
    void on_failure(const std::string &why) override;
    void on_closed() override;

    // The client has shown who it is: connects to its worker, and welcomes it.
    void
    join(const std::shared_ptr<exchange::Guest> &guest, const exchange::Joining &joining);

    // The request will be answered now. False: nobody waits for it any more.
    bool forget(RequestState &request);

private:
    const char *on_request(Incoming &message);
    const char *on_stream_message(Incoming &message);
    void refuse(uint64_t id, Status status, const std::string &text);
    void accept(Incoming &message, const std::shared_ptr<RequestState> &request);

    const std::shared_ptr<ServerState> m_server;
    bool m_asked = false; // a request has come
    std::unordered_map<uint64_t, std::shared_ptr<RequestState>> m_requests;
};

} // namespace be::adapter
