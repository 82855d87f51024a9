// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/export.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace be {

/**
 * How a call ended. The numbers are part of the wire protocol and never change.
 *
 * "Not run" below means: the handler provably did not run, so that any call may be tried
 * again.
 */
enum class Status : std::uint8_t {
    ok                = 0,
    handler_failed    = 1, //< the handler threw, or dropped its responder; text says what
    no_such_method    = 2, //< not run; text names the method
    overloaded        = 3, //< not run: the server is at its limit, which the text names
    draining          = 4, //< not run: the server is about to end
    deadline_exceeded = 5, //< too late; whether it ran is unknown
    canceled          = 6, //< by the caller; whether it ran is unknown
    too_large         = 7, //< not run: body above the server's limit; or, when it says
            //< so, the response did not fit
    connection_lost = 8, //< sent, and then the connection failed: may have run
    unreachable     = 9, //< not run: no address of the channel could be connected
    would_block     = 10, //< not run: the channel's queue is full
    closed          = 11, //< not run: the channel or the runtime is closed
    protocol_error  = 12, //< the other side broke the protocol
};

/** The highest value that is in use. */
inline constexpr Status last_status = Status::protocol_error;

/** The enumerator's name; "unknown" for a value that is none. */
BE_API const char *to_string(Status status) noexcept;

/** Thrown where a program cannot go on: setting up, and Reply::value(). */
class BE_API Error : public std::runtime_error {
public:
    /** `text` becomes what(). */
    Error(Status status, const std::string &text);
    ~Error() override;

    /** What kind of error it is. */
    Status status() const noexcept
    {
        return m_status;
    }

private:
    Status m_status;
};

} // namespace be
