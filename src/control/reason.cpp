// SPDX-License-Identifier: BSD-3-Clause

#include "control/reason.hpp"

namespace be::control {

const char *to_string(Reason reason) noexcept
{
    switch (reason) {
    case Reason::local:
        return "closed locally";
    case Reason::closed_by_peer:
        return "closed by peer";
    case Reason::refused:
        return "refused";
    case Reason::unreachable:
        return "unreachable";
    case Reason::authentication:
        return "authentication failed";
    case Reason::version:
        return "version mismatch";
    case Reason::malformed:
        return "malformed message";
    case Reason::oversized:
        return "oversized message";
    case Reason::unexpected:
        return "unexpected message";
    case Reason::timeout:
        return "timed out";
    case Reason::goodbye:
        return "goodbye";
    case Reason::unknown_fabric:
        return "unknown fabric";
    case Reason::resources:
        return "out of resources";
    case Reason::duplicate:
        return "duplicate connection";
    case Reason::incompatible:
        return "incompatible ends";
    case Reason::unknown_session:
        return "unknown session";
    }

    return "unknown reason";
}

Reason reason_from_wire(std::uint8_t value) noexcept
{
    auto reason = static_cast<Reason>(value);

    switch (reason) {
    case Reason::authentication:
    case Reason::version:
    case Reason::malformed:
    case Reason::oversized:
    case Reason::unexpected:
    case Reason::timeout:
    case Reason::unknown_fabric:
    case Reason::resources:
    case Reason::duplicate:
    case Reason::incompatible:
    case Reason::unknown_session:
        return reason;
    default:
        return Reason::refused;
    }
}

} // namespace be::control
