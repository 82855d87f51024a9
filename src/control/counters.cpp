// SPDX-License-Identifier: BSD-3-Clause

#include "control/counters.hpp"

namespace be::control {

namespace {

std::uint64_t load(const LiveCounters::Cell &cell) noexcept
{
    return cell.load(std::memory_order_relaxed);
}

} // namespace

Counters LiveCounters::snapshot() const noexcept
{
    Counters result;

    result.accepted        = load(accepted);
    result.dialed          = load(dialed);
    result.authenticated   = load(authenticated);
    result.accept_errors   = load(accept_errors);
    result.throttled       = load(throttled);
    result.over_limit      = load(over_limit);
    result.slow_readers    = load(slow_readers);
    result.probes_answered = load(probes_answered);
    result.bytes_in        = load(bytes_in);
    result.bytes_out       = load(bytes_out);
    result.messages_in     = load(messages_in);
    result.messages_out    = load(messages_out);
    result.connections     = load(connections);
    result.half_open       = load(half_open);
    for (std::size_t i = 0; i < reason_count; ++i) {
        result.rejected[i] = load(rejected[i]);
        result.closed[i]   = load(closed[i]);
    }

    return result;
}

} // namespace be::control
