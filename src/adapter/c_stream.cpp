// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/block_pool.hpp"
#include "adapter/c_api.hpp"

#include <byteexpress/stream.h>

#include <atomic>
#include <memory>
#include <utility>

struct be_stream {
    be::Stream stream;
    size_t max_part;
};

struct be_call {
    be::Call call;
    std::atomic<bool> taken = false;
};

using namespace be::adapter::c;

namespace {

be::StreamOptions options_of(const be_stream_params_t *given)
{
    const auto params = complete(given, be_stream_params_init, "be_stream_params_t");
    return {.parts = params.parts, .max_part = params.max_part};
}

be_part_t view_of(const be::Part &part)
{
    be_part_t c{};
    c.status = static_cast<be_status_t>(part.status);
    c.last   = part.last ? 1 : 0;
    c.data   = part.body.bytes().data(); // what has come is one piece
    c.length = part.body.size();
    return c;
}

// What `read` gives, until it is released. BE_CLOSED: it threw.
template<class Read>
be_status_t give_part(be_part_t *part, const Read &read) noexcept
{
    *part           = {};
    part->status    = BE_CLOSED;
    const auto fill = [&] {
        auto kept      = std::make_unique<be::Part>(); // before a part is taken
        *kept          = read();
        *part          = view_of(*kept);
        part->internal = kept.release();
    };
    guard(nullptr, 0, fill);
    return part->status;
}

// BE_CLOSED: `write` threw.
template<class Write>
be_status_t status_of(const Write &write) noexcept
{
    be::Status status = be::Status::closed;
    guard(nullptr, 0, [&] { status = write(); });
    return static_cast<be_status_t>(status);
}

// In memory that the transport knows. What is too large is refused for its size: it is not copied.
be::Body copy(const be_stream &stream, const void *data, size_t length)
{
    const auto bytes = bytes_of(data, length, "the part: data");
    if (length > stream.max_part) {
        return {std::make_shared<std::byte>(), bytes};
    }
    auto memory   = be::adapter::pooled(length);
    std::byte *to = memory.get();
    if (length != 0) {
        std::memcpy(to, data, length);
    }
    return {std::move(memory), {to, length}};
}

// Memory of the user's. He hears that it is free, unless it stays his.
struct Lent {
    Lent(be_release_t function, void *its_arg) : release(function), arg(its_arg)
    {
    }
    Lent(const Lent &)            = delete;
    Lent &operator=(const Lent &) = delete;
    ~Lent()
    {
        if (release != nullptr) {
            release(arg);
        }
    }

    be_release_t release;
    void *const arg;
};

template<class Write>
be_status_t write_owned(const void *data, size_t length, be_release_t release, void *arg,
                        const Write &write) noexcept
{
    return status_of([&] {
        auto lent = std::make_shared<Lent>(nullptr, arg);
        be::Body part(lent, bytes_of(data, length, "the part: data"));
        lent->release           = release;
        const be::Status status = [&] {
            try {
                return write(std::move(part));
            } catch (...) {
                return be::Status::closed;
            }
        }();
        if (status != be::Status::ok) { // nobody else has it any more
            lent->release = nullptr;
        }
        return status;
    });
}

} // namespace

void be_stream_params_init(be_stream_params_t *params)
{
    const be::StreamOptions options;
    *params             = {};
    params->struct_size = sizeof(*params);
    params->parts       = options.parts;
    params->max_part    = options.max_part;
}

int be_server_add_stream(be_server_t *server, const char *name,
                         be_stream_handler_t handler, void *arg,
                         const be_stream_params_t *params, char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        const be::StreamOptions options = options_of(params);
        require(handler != nullptr, "be_server_add_stream: handler", "a function");
        server->server.add_stream_async(
                text_of(name),
                [handler, arg, max_part = options.max_part](const be::Request &request,
                                                            be::Stream stream,
                                                            be::Responder responder) {
                    const auto bytes = request.body().bytes();
                    std::unique_ptr<be_stream> parts(
                            new be_stream{std::move(stream), max_part});
                    std::unique_ptr<be_responder> answer(
                            new be_responder{std::move(responder)});
                    handler(arg, bytes.data(), bytes.size(), parts.release(),
                            answer.release());
                },
                options);
    });
}

int be_channel_open(be_channel_t *channel, const char *method, const void *body,
                    size_t length, const be_call_params_t *params,
                    const be_stream_params_t *stream_params, be_stream_t **stream,
                    be_call_t **call, char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        const be::StreamOptions parts_options = options_of(stream_params);
        be::StreamCall opened                 = channel->channel.open(
                                text_of(method),
                                be::Body::copy(bytes_of(body, length, "be_channel_open: body")),
                                options_of(params), parts_options);
        std::unique_ptr<be_stream> parts(
                new be_stream{std::move(opened.parts), parts_options.max_part});
        *call   = new be_call{std::move(opened.call)};
        *stream = parts.release();
    });
}

void be_stream_destroy(be_stream_t *stream)
{
    delete stream;
}

be_status_t be_stream_read(be_stream_t *stream, be_part_t *part)
{
    return give_part(part, [&] { return stream->stream.read(); });
}

be_status_t be_stream_try_read(be_stream_t *stream, be_part_t *part)
{
    return give_part(part, [&] { return stream->stream.try_read(); });
}

int be_stream_start_read(be_stream_t *stream, be_part_callback_t callback, void *arg,
                         char *why, size_t why_size)
{
    return guard(why, why_size, [&] {
        require(callback != nullptr, "be_stream_start_read: callback", "a function");
        // the callback may destroy the stream
        stream->stream.start_read([callback, arg](const be::Part &part) {
            const be_part_t c = view_of(part);
            callback(arg, &c);
        });
    });
}

void be_part_release(be_part_t *part)
{
    delete static_cast<be::Part *>(part->internal);
    part->internal = nullptr;
}

be_status_t be_stream_write(be_stream_t *stream, const void *data, size_t length)
{
    return status_of([&] { return stream->stream.write(copy(*stream, data, length)); });
}

be_status_t be_stream_try_write(be_stream_t *stream, const void *data, size_t length)
{
    return status_of(
            [&] { return stream->stream.try_write(copy(*stream, data, length)); });
}

be_status_t be_stream_write_owned(be_stream_t *stream, const void *data, size_t length,
                                  be_release_t release, void *arg)
{
    return write_owned(data, length, release, arg, [&](be::Body part) {
        return stream->stream.write(std::move(part));
    });
}

be_status_t be_stream_try_write_owned(be_stream_t *stream, const void *data,
                                      size_t length, be_release_t release, void *arg)
{
    return write_owned(data, length, release, arg, [&](const be::Body &part) {
        return stream->stream.try_write(part);
    });
}

int be_stream_start_write(be_stream_t *stream, const void *data, size_t length,
                          be_write_callback_t callback, void *arg, char *why,
                          size_t why_size)
{
    return guard(why, why_size, [&] {
        require(callback != nullptr, "be_stream_start_write: callback", "a function");
        stream->stream.start_write(copy(*stream, data, length),
                                   [callback, arg](be::Status status) {
                                       callback(arg, static_cast<be_status_t>(status));
                                   });
    });
}

be_status_t be_stream_finish(be_stream_t *stream)
{
    return status_of([&] { return stream->stream.finish(); });
}

int be_call_ready(be_call_t *call)
{
    return call->call.ready() ? 1 : 0;
}

int be_call_wait_for(be_call_t *call, uint64_t limit_us)
{
    return call->call.wait_for(time_of(limit_us)) ? 1 : 0;
}

be_status_t be_call_get(be_call_t *call, be_reply_t *reply)
{
    return give(reply, [&] {
        if (call->taken.exchange(true)) {
            throw be::Error(be::Status::closed,
                            "be_call_get: the reply was taken before");
        }
        return call->call.get();
    });
}

void be_call_cancel(be_call_t *call)
{
    call->call.cancel();
}

void be_call_destroy(be_call_t *call)
{
    delete call;
}
