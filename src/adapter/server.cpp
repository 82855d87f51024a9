// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/server.hpp>

#include "adapter/request_state.hpp"
#include "adapter/server_state.hpp"

#include <stdexcept>
#include <utility>

namespace be {

Request::Request(std::shared_ptr<adapter::RequestState> state) noexcept :
    m_state(std::move(state))
{
}

Request::~Request()                                   = default;
Request::Request(const Request &) noexcept            = default;
Request::Request(Request &&) noexcept                 = default;
Request &Request::operator=(const Request &) noexcept = default;
Request &Request::operator=(Request &&) noexcept      = default;

const std::string &Request::method() const noexcept
{
    return m_state->method.name;
}

const Body &Request::body() const noexcept
{
    return m_state->body;
}

std::chrono::steady_clock::time_point Request::deadline() const noexcept
{
    return m_state->deadline;
}

bool Request::canceled() const noexcept
{
    return m_state->canceled.load(std::memory_order_relaxed);
}

Responder::Responder(std::shared_ptr<adapter::RequestState> state) noexcept :
    m_state(std::move(state))
{
}

Responder::Responder(Responder &&) noexcept = default;

Responder &Responder::operator=(Responder &&other) noexcept
{
    if (this != &other) {
        Responder old(std::move(*this)); // answers if it has to
        m_state = std::move(other.m_state);
    }
    return *this;
}

Responder::~Responder()
{
    if (m_state != nullptr) {
        m_state->answer(Status::handler_failed, "the handler ended without an answer", 0,
                        {});
    }
}

void Responder::reply(Body body)
{
    if (m_state == nullptr) {
        throw std::logic_error("be::Responder::reply: the call was answered already");
    }
    std::exchange(m_state, nullptr)->answer(Status::ok, {}, 0, std::move(body));
}

void Responder::fail(const std::string &text, std::uint32_t code)
{
    if (m_state == nullptr) {
        throw std::logic_error("be::Responder::fail: the call was answered already");
    }
    std::exchange(m_state, nullptr)->answer(Status::handler_failed, text, code, {});
}

namespace {

void require_limit(size_t value, const char *name)
{
    if (value == 0) {
        throw Error(Status::closed,
                    std::string("ServerOptions::") + name + " 0: expected at least 1");
    }
}

const char *text_of(const std::exception_ptr &error, std::string &text)
{
    try {
        std::rethrow_exception(error);
    } catch (const std::exception &exception) {
        text = exception.what();
    } catch (...) {
        text = "the handler threw something that is no std::exception";
    }
    return text.c_str();
}

} // namespace

Server::Server(Runtime &runtime, const ServerOptions &options) :
    m_state(std::make_shared<adapter::ServerState>(runtime.workers(), options))
{
    require_limit(options.max_requests, "max_requests");
    require_limit(options.max_requests_per_connection, "max_requests_per_connection");
    require_limit(options.max_connections, "max_connections");
    require_limit(options.max_half_open, "max_half_open");
    if (options.handshake_timeout.count() < 1) {
        throw Error(Status::closed,
                    "ServerOptions::handshake_timeout " +
                            std::to_string(options.handshake_timeout.count()) +
                            " ms: expected at least 1");
    }
}

Server::~Server()
{
    m_state->drain(std::chrono::seconds(1));
}

namespace {

// What a handler gives or throws is the answer.
template<class Function>
void answer_with(Responder &responder, const Function &function)
{
    std::string text;
    try {
        responder.reply(function());
        return;
    } catch (...) {
        text_of(std::current_exception(), text);
    }
    if (responder) {
        responder.fail(text);
    }
}

// The same for one that ends later.
void answer_with(Responder responder, Task<Body> task)
{
    // a std::function is copied, a responder is not
    auto shared = std::make_shared<Responder>(std::move(responder));
    std::move(task).on_done(
            [shared](std::optional<Body> value, std::exception_ptr error) {
                std::string text;
                if (error != nullptr) {
                    shared->fail(text_of(error, text));
                } else {
                    shared->reply(std::move(*value));
                }
            });
}

} // namespace

void Server::add(const std::string &name, Handler handler)
{
    add_async(name, [handler = std::move(handler)](const Request &request,
                                                   Responder responder) {
        answer_with(responder, [&] { return handler(request); });
    });
}

void Server::add_async(const std::string &name, AsyncHandler handler)
{
    m_state->add({name, std::move(handler), {}, {}});
}

void Server::add_task(const std::string &name, TaskHandler handler)
{
    add_async(name, [handler = std::move(handler)](Request request, Responder responder) {
        answer_with(std::move(responder), handler(std::move(request)));
    });
}

void Server::add_stream(const std::string &name, StreamHandler handler,
                        const StreamOptions &options)
{
    add_stream_async(
            name,
            [handler = std::move(handler)](const Request &request, Stream parts,
                                           Responder responder) {
                answer_with(responder, [&] { return handler(request, parts); });
            },
            options);
}

void Server::add_stream_async(const std::string &name, AsyncStreamHandler handler,
                              const StreamOptions &options)
{
    adapter::check(options);
    m_state->add({name, {}, std::move(handler), options});
}

void Server::add_stream_task(const std::string &name, TaskStreamHandler handler,
                             const StreamOptions &options)
{
    add_stream_async(
            name,
            [handler = std::move(handler)](Request request, Stream parts,
                                           Responder responder) {
                answer_with(std::move(responder),
                            handler(std::move(request), std::move(parts)));
            },
            options);
}

void Server::start()
{
    m_state->start();
}

std::string Server::address() const
{
    return m_state->address();
}

std::uint64_t Server::incarnation() const noexcept
{
    return m_state->incarnation();
}

bool Server::drain(std::chrono::milliseconds limit)
{
    return m_state->drain(limit);
}

ServerStats Server::stats() const noexcept
{
    return m_state->stats();
}

} // namespace be
