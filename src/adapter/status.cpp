// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/status.hpp>

namespace be {

const char *to_string(Status status) noexcept
{
    switch (status) {
    case Status::ok:
        return "ok";
    case Status::handler_failed:
        return "handler_failed";
    case Status::no_such_method:
        return "no_such_method";
    case Status::overloaded:
        return "overloaded";
    case Status::draining:
        return "draining";
    case Status::deadline_exceeded:
        return "deadline_exceeded";
    case Status::canceled:
        return "canceled";
    case Status::too_large:
        return "too_large";
    case Status::connection_lost:
        return "connection_lost";
    case Status::unreachable:
        return "unreachable";
    case Status::would_block:
        return "would_block";
    case Status::closed:
        return "closed";
    case Status::protocol_error:
        return "protocol_error";
    }
    return "unknown";
}

Error::Error(Status status, const std::string &text) :
    std::runtime_error(text), m_status(status)
{
}

Error::~Error() = default;

} // namespace be
