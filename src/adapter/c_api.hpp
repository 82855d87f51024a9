// SPDX-License-Identifier: BSD-3-Clause
//
// What the sources of the C interface share: what its objects hold, and how it says what went
// wrong. No exception crosses the border to C.
#pragma once

#include <byteexpress/rpc.h>

#include <byteexpress/channel.hpp>
#include <byteexpress/server.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>

struct be_runtime {
    be::Runtime runtime;
};

struct be_server {
    be_server(be::Runtime &runtime, const be::ServerOptions &options) :
        server(runtime, options)
    {
    }
    be::Server server;
    std::string address;
};

struct be_channel {
    be::Channel channel;
};

struct be_responder {
    be::Responder responder;
};

namespace be::adapter::c {

// 0, and an empty text, or the errno value and text of the exception.
int said(const std::exception_ptr &error, char *why, size_t why_size) noexcept;

template<class Function>
int guard(char *why, size_t why_size, Function &&function) noexcept
{
    try {
        function();
    } catch (...) {
        return said(std::current_exception(), why, why_size);
    }
    return said(nullptr, why, why_size);
}

// A bad argument unless it is `given`. `what` names it and what it is.
inline void require(bool given, const char *what, const char *expected)
{
    if (!given) {
        throw Error(Status::closed, std::string(what) + " NULL: expected " + expected);
    }
}

// What is given, and the defaults of what is not. `name` is the type's.
template<class Params, class Init>
Params complete(const Params *given, Init init, const char *name)
{
    Params params;
    init(&params);
    if (given != nullptr) { // an older caller knows fewer members
        if (given->struct_size < sizeof(given->struct_size)) {
            throw Error(Status::closed, std::string(name) + ".struct_size " +
                                                std::to_string(given->struct_size) +
                                                ": expected " +
                                                std::to_string(sizeof(params)) +
                                                " (the type's init function sets it)");
        }
        std::memcpy(&params, given, std::min(given->struct_size, sizeof(params)));
    }
    return params;
}

CallOptions options_of(const be_call_params_t *given);

// UINT64_MAX: for ever.
std::chrono::microseconds time_of(uint64_t microseconds) noexcept;

// For as long as the reply.
be_reply_t view_of(const Reply &reply);

// Gives what `function` gives, or why it threw, until it is released.
be_status_t give(be_reply_t *reply, const std::function<Reply()> &function) noexcept;

// `what` names the argument.
inline std::span<const std::byte>
bytes_of(const void *data, size_t length, const char *what)
{
    if ((data == nullptr) && (length != 0)) {
        throw Error(Status::closed, std::string(what) + " NULL: expected " +
                                            std::to_string(length) + " bytes");
    }
    return {static_cast<const std::byte *>(data), length};
}

inline std::string text_of(const char *text)
{
    return (text == nullptr) ? std::string() : text;
}

} // namespace be::adapter::c
