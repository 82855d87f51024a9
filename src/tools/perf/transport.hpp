// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>

namespace be::tools {

/** What the transport be has counted in one process, or in several. */
struct TransportCounters {
    bool known             = false; //< it is used, and leaves its counters (UCX_BE_STATS)
    uint64_t bytes_copied  = 0;
    uint64_t credit_ns     = 0; //< messages waited for credit
    uint64_t bytes_ns      = 0; //< bulk waited for byte credit
    uint64_t window_ns     = 0; //< bulk waited for the window
    uint64_t rnr           = 0;
    uint64_t registrations = 0; //< calls of ibv_reg_mr; 0, or that and more

    void add(const TransportCounters &other);
    /** Since then. */
    TransportCounters since(const TransportCounters &before) const;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TransportCounters, known, bytes_copied, credit_ns,
                                   bytes_ns, window_ns, rnr, registrations)

/** Of this process, now. Waits for its threads to answer, for a moment. */
TransportCounters read_transport();

/** Pause frames that the port of this machine that be uses has counted; none: unknown. */
std::optional<uint64_t> read_pauses();

} // namespace be::tools
