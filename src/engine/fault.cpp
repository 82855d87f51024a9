// SPDX-License-Identifier: BSD-3-Clause

#include "engine/fault.hpp"

#include <fmt/format.h>

namespace be::engine {

const char *to_string(Fault::Side side) noexcept
{
    switch (side) {
    case Fault::Side::local:
        return "local";
    case Fault::Side::remote:
        return "remote";
    case Fault::Side::unknown:
        break;
    }
    return "";
}

std::string Fault::describe() const
{
    return side == Side::unknown ? text :
                                   std::string(to_string(side)) + " fault: " + text;
}

Fault::Side side_of(ibv_wc_status status, bool port_is_up) noexcept
{
    switch (status) {
    // Nobody has answered: that is ours only if our own port is down.
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
        return port_is_up ? Fault::Side::remote : Fault::Side::local;
    // They have answered that they cannot.
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
    case IBV_WC_REM_ABORT_ERR:
        return Fault::Side::remote;
    // The rest our device says of itself. Flushed is what our queue pair had taken when it failed.
    default:
        return Fault::Side::local;
    }
}

Fault fault_of(const ibv_wc &wc, const std::string &queue, bool port_is_up)
{
    Fault fault(side_of(wc.status, port_is_up), wc.qp_num,
                fmt::format("{}: {} (status {}, vendor error {:#x})", queue,
                            verbs::to_string(wc.status), static_cast<unsigned>(wc.status),
                            wc.vendor_err));
    fault.status       = wc.status;
    fault.vendor_error = wc.vendor_err;
    return fault;
}

} // namespace be::engine
