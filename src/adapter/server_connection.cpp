// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/server_connection.hpp"

#include "adapter/block_pool.hpp"
#include "adapter/notice.hpp"
#include "adapter/request_state.hpp"
#include "adapter/server_state.hpp"
#include "adapter/worker.hpp"

#include <algorithm>

namespace be::adapter {

namespace {

Clock::time_point deadline_of(uint64_t microseconds, Worker &worker)
{
    // 0: for ever; so is what would not fit into the clock
    constexpr uint64_t longest =
            std::chrono::microseconds(std::chrono::years(100)).count();
    if ((microseconds == 0) || (microseconds > longest)) {
        return Clock::time_point::max();
    }
    return worker.now() + std::chrono::microseconds(microseconds);
}

} // namespace

ServerConnection::ServerConnection(Worker &owner, std::shared_ptr<ServerState> server) :
    Endpoint(owner), m_server(std::move(server))
{
}

const char *ServerConnection::on_message(Incoming &message)
{
    switch (message.header.kind) {
    case wire::Kind::request:
        m_asked = true;
        return on_request(message);
    case wire::Kind::cancel: {
        const auto at = m_requests.find(message.header.id);
        if (at != m_requests.end()) { // else it has been answered meanwhile
            at->second->cancel(Status::canceled);
        }
        return nullptr;
    }
    case wire::Kind::part:
    case wire::Kind::credit:
        return on_stream_message(message);
    default:
        return "a message that only servers send";
    }
}

const char *ServerConnection::on_stream_message(Incoming &message)
{
    const auto at = m_requests.find(message.header.id);

    if (at == m_requests.end()) {
        return nullptr; // has been answered meanwhile
    }
    const auto stream = at->second->stream();
    if (stream == nullptr) {
        return "a part, or credit, for a request that is no stream";
    }
    return (message.header.kind == wire::Kind::part) ?
                   stream->on_part(message) :
                   stream->on_credit(message.header.value);
}

void ServerConnection::join(const std::shared_ptr<exchange::Guest> &guest,
                            const exchange::Joining &joining)
{
    if (!is_open() || (joining.again && m_asked)) {
        worker().fail(*this, "exchange of addresses: joins a second time");
        return;
    }
    worker().disconnect(*this); // what the client could not take
    const uint32_t turn   = std::max(worker().turns(joining.address), joining.turn);
    const std::string why = worker().connect(*this, joining.address, joining.connection,
                                             turn);
    if (!why.empty()) {
        worker().fail(*this, why);
        return;
    }
    const size_t window =
            std::min<size_t>(m_server->options().max_requests_per_connection, UINT32_MAX);
    guest->welcome({.kind        = exchange::Kind::welcome,
                    .connection  = number(),
                    .incarnation = m_server->incarnation(),
                    .window      = static_cast<uint32_t>(window),
                    .turn        = turn},
                   worker().address());
}

void ServerConnection::refuse(uint64_t id, Status status, const std::string &text)
{
    if (status == Status::overloaded) {
        m_server->counters.overloaded.fetch_add(1, std::memory_order_relaxed);
    }
    send_notice(*this,
                {.kind = wire::Kind::response, .status = status, .id = id, .text = text});
}

const char *ServerConnection::on_request(Incoming &message)
{
    const wire::Header &header   = message.header;
    const ServerOptions &options = m_server->options();

    if (header.text.empty() || (header.text.size() > wire::max_name)) {
        return "a name of a method that is empty or too long";
    }
    if (m_requests.contains(header.id)) {
        return "a request with the number of one that is under way";
    }
    const bool streams = (header.flags & wire::flag_stream) != 0;
    if (streams && ((header.code == 0) || (header.code > wire::max_parts))) {
        return "a stream whose client takes no parts, or too many";
    }
    // Whatever is refused below has cost nothing but its header: a large body is still
    // with the client.
    if (m_requests.size() >= options.max_requests_per_connection) {
        refuse(header.id, Status::overloaded,
               "max_requests_per_connection of " +
                       std::to_string(options.max_requests_per_connection) + " reached");
        return nullptr;
    }
    const Method *method = m_server->find(header.text);
    if (method == nullptr) {
        refuse(header.id, Status::no_such_method,
               "no method '" + std::string(header.text) + "'");
        return nullptr;
    }
    if (method->is_stream() != streams) {
        refuse(header.id, Status::no_such_method,
               "'" + method->name + "' is " +
                       (streams ? "no stream: expected Channel::call() or start()" :
                                  "a stream: expected Channel::open()"));
        return nullptr;
    }
    if (message.length > options.max_body) {
        refuse(header.id, Status::too_large,
               "a body of " + std::to_string(message.length) +
                       " bytes; the server takes at most " +
                       std::to_string(options.max_body));
        return nullptr;
    }
    const Status admitted = m_server->admit();
    if (admitted != Status::ok) {
        refuse(header.id, admitted,
               (admitted == Status::draining) ?
                       "the server is draining" :
                       "max_requests of " + std::to_string(options.max_requests) +
                               " reached");
        return nullptr;
    }
    accept(message,
           std::make_shared<RequestState>(std::static_pointer_cast<ServerConnection>(
                                                  shared_from_this()),
                                          *method, header.id,
                                          deadline_of(header.value, worker())));
    return nullptr;
}

void ServerConnection::accept(Incoming &message,
                              const std::shared_ptr<RequestState> &request)
{
    const bool bulk = (message.header.flags & wire::flag_bulk) != 0;

    m_requests.emplace(request->id, request);
    if (request->method.is_stream()) {
        request->open_stream(message.header.code);
    }
    if (!message.remote) {
        request->body = worker().keep(message);
        worker().arrived(request, bulk);
        return;
    }
    auto memory   = pooled(message.length);
    request->body = Body(memory, {memory.get(), message.length});
    worker().receive(message, memory.get(), [request, bulk](ucs_status_t status) {
        if (status == UCS_OK) {
            request->connection->worker().arrived(request, bulk);
        } else {
            // The connection is about to fail; nothing was run.
            request->connection->forget(*request);
        }
    });
}

bool ServerConnection::forget(RequestState &request)
{
    const bool known = m_requests.erase(request.id) != 0;
    request.end_stream(Status::closed);
    return known && !request.canceled.load(std::memory_order_relaxed);
}

void ServerConnection::on_failure(const std::string &)
{
    for (const auto &[id, request] : m_requests) {
        request->cancel(Status::connection_lost);
    }
    m_requests.clear();
}

void ServerConnection::on_closed()
{
    m_server->closed(*this);
}

} // namespace be::adapter
