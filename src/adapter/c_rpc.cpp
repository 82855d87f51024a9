// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/c_api.hpp"

#include <cerrno>
#include <cstdio>
#include <limits>
#include <new>
#include <stdexcept>

static_assert(BE_PROTOCOL_ERROR == static_cast<int>(be::last_status));

namespace be::adapter::c {

namespace {

int report(int error, const char *text, char *why, size_t why_size)
{
    if ((why != nullptr) && (why_size > 0)) {
        snprintf(why, why_size, "%s", text);
    }
    return error;
}

} // namespace

int said(const std::exception_ptr &error, char *why, size_t why_size) noexcept
{
    if (error == nullptr) {
        return report(0, "", why, why_size);
    }
    try {
        std::rethrow_exception(error);
    } catch (const Error &error) {
        return report((error.status() == Status::unreachable) ? EADDRNOTAVAIL : EINVAL,
                      error.what(), why, why_size);
    } catch (const std::bad_alloc &) {
        return report(ENOMEM, "no memory", why, why_size);
    } catch (const std::logic_error &error) { // wrong use
        return report(EINVAL, error.what(), why, why_size);
    } catch (const std::exception &error) {
        return report(EIO, error.what(), why, why_size);
    }
}

std::chrono::microseconds time_of(uint64_t microseconds) noexcept
{
    constexpr auto longest = static_cast<uint64_t>(no_deadline.count());
    return std::chrono::microseconds(
            static_cast<int64_t>(std::min(microseconds, longest)));
}

CallOptions options_of(const be_call_params_t *given)
{
    const auto params = complete(given, be_call_params_init, "be_call_params_t");
    CallOptions options;
    options.timeout      = time_of(params.timeout_us);
    options.max_attempts = params.max_attempts;
    options.idempotent   = params.idempotent != 0;
    options.priority     = (params.bulk != 0) ? Priority::bulk : Priority::latency;
    if (params.response != nullptr) {
        options.response = {static_cast<std::byte *>(params.response),
                            params.response_size};
    }
    return options;
}

be_reply_t view_of(const Reply &reply)
{
    be_reply_t c{};
    c.status      = static_cast<be_status_t>(reply.status);
    c.code        = reply.code;
    c.text        = reply.text.c_str();
    c.data        = reply.body.bytes().data();
    c.length      = reply.body.size();
    c.incarnation = reply.incarnation;
    c.attempts    = reply.attempts;
    return c;
}

be_status_t give(be_reply_t *reply, const std::function<Reply()> &function) noexcept
{
    Reply *kept = nullptr;
    try {
        kept = new Reply;
        try {
            *kept = function();
        } catch (const Error &error) { // a bad argument
            kept->status = error.status();
            kept->text   = error.what();
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::exception &error) {
            kept->text = error.what();
        }
        *reply          = view_of(*kept);
        reply->internal = kept;
    } catch (const std::bad_alloc &) {
        delete kept;
        *reply        = {};
        reply->status = BE_CLOSED;
        reply->text   = "no memory";
    }
    return reply->status;
}

} // namespace be::adapter::c

using namespace be::adapter::c;

const char *be_status_string(be_status_t status)
{
    return be::to_string(static_cast<be::Status>(status));
}

void be_runtime_params_init(be_runtime_params_t *params)
{
    const be::RuntimeOptions options;
    *params             = {};
    params->struct_size = sizeof(*params);
    params->threads     = options.threads;
    params->progress    = static_cast<be_progress_t>(options.progress);
    params->spin_us     = static_cast<unsigned>(options.spin.count());
}

int be_runtime_create(const be_runtime_params_t *given, be_runtime_t **runtime, char *why,
                      size_t why_size)
{
    return guard(why, why_size, [&] {
        const auto params = complete(given, be_runtime_params_init,
                                     "be_runtime_params_t");
        be::RuntimeOptions options;
        options.threads = params.threads;
        options.spin    = std::chrono::microseconds(params.spin_us);
        options.pin     = params.pin != 0;
        options.token   = (params.token != nullptr) ? params.token : "";
        if ((params.progress < BE_POLLING) || (params.progress > BE_ADAPTIVE)) {
            throw be::Error(be::Status::closed, "be_runtime_params_t.progress " +
                                                        std::to_string(params.progress) +
                                                        ": expected 0 to 2");
        }
        options.progress = static_cast<be::Progress>(params.progress);
        *runtime         = new be_runtime{be::Runtime(options)};
    });
}

void be_runtime_destroy(be_runtime_t *runtime)
{
    delete runtime;
}

int be_server_create(be_runtime_t *runtime, const char *address, be_server_t **server,
                     char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        be::ServerOptions options;
        if (address != nullptr) {
            options.address = address;
        }
        *server = new be_server(runtime->runtime, options);
    });
}

int be_server_add(be_server_t *server, const char *name, be_handler_t handler, void *arg,
                  char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        require(handler != nullptr, "be_server_add: handler", "a function");
        server->server.add_async(text_of(name), [handler, arg](be::Request request,
                                                               be::Responder responder) {
            const auto bytes = request.body().bytes();
            handler(arg, bytes.data(), bytes.size(),
                    new be_responder{std::move(responder)});
        });
    });
}

int be_server_start(be_server_t *server, char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        server->server.start();
        server->address = server->server.address();
    });
}

const char *be_server_address(be_server_t *server)
{
    return server->address.c_str();
}

int be_server_drain(be_server_t *server, unsigned limit_ms)
{
    return server->server.drain(std::chrono::milliseconds(limit_ms));
}

void be_server_destroy(be_server_t *server)
{
    delete server;
}

void be_responder_reply(be_responder_t *responder, const void *data, size_t length)
{
    // On failure the responder's end says that there was no answer.
    guard(nullptr, 0, [&] {
        responder->responder.reply(
                be::Body::copy(bytes_of(data, length, "be_responder_reply: data")));
    });
    delete responder;
}

void be_responder_fail(be_responder_t *responder, uint32_t code, const char *text)
{
    guard(nullptr, 0, [&] { responder->responder.fail(text_of(text), code); });
    delete responder;
}

int be_channel_create(be_runtime_t *runtime, const char *const *addresses, size_t count,
                      be_channel_t **channel, char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        be::ChannelOptions options;
        require((addresses != nullptr) || (count == 0), "be_channel_create: addresses",
                "an array of texts");
        for (size_t i = 0; i < count; i++) {
            const std::string what = "be_channel_create: addresses[" + std::to_string(i) +
                                     "]";
            require(addresses[i] != nullptr, what.c_str(), "a text as 10.0.0.1:7000");
            options.addresses.emplace_back(addresses[i]);
        }
        *channel = new be_channel{be::Channel(runtime->runtime, options)};
    });
}

void be_channel_destroy(be_channel_t *channel)
{
    delete channel;
}

void be_call_params_init(be_call_params_t *params)
{
    const be::CallOptions options;
    *params              = {};
    params->struct_size  = sizeof(*params);
    params->timeout_us   = static_cast<uint64_t>(options.timeout.count());
    params->max_attempts = options.max_attempts;
}

be_status_t be_channel_call(be_channel_t *channel, const char *method, const void *body,
                            size_t length, const be_call_params_t *params,
                            be_reply_t *reply)
{
    return give(reply, [&] {
        return channel->channel.call(text_of(method),
                                     be::Body::borrow(bytes_of(body, length,
                                                               "be_channel_call: body")),
                                     options_of(params));
    });
}

int be_channel_start(be_channel_t *channel, const char *method, const void *body,
                     size_t length, const be_call_params_t *params,
                     be_callback_t callback, void *arg, char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        require(callback != nullptr, "be_channel_start: callback", "a function");
        channel->channel.start(text_of(method),
                               be::Body::copy(
                                       bytes_of(body, length, "be_channel_start: body")),
                               options_of(params), [callback, arg](be::Reply reply) {
                                   const be_reply_t c = view_of(reply);
                                   callback(arg, &c);
                               });
    });
}

void be_reply_release(be_reply_t *reply)
{
    delete static_cast<be::Reply *>(reply->internal);
    reply->internal = nullptr;
}
