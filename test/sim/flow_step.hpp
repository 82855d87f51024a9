// SPDX-License-Identifier: BSD-3-Clause
//
// One call of be::core::Flow as a value: it can be written down and done again.
//
// The simulator drives each Flow by steps only. A recorded run is a text file of one
// configuration line and then, for each step, what was called and all that came of it:
//
//   NAME PEER VALUE EXTRA NOW = RESULT [KIND PEER VALUE]...
//
// Replaying it on a fresh Flow must give the same results and actions, with all
// invariants intact after each step.

#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "core/flow.hpp"

namespace be::sim {

struct Step {
    enum Call : uint8_t {
        join, /* result: peer */
        leave,
        hello, /* result: the cell to tell in the handshake; counts as told */
        admit, /* value: bytes; result: 1 when admitted */
        stamp, /* result: sequence number and total granted */
        blocked, /* value: small and large messages, extra: charges of first and all */
        cell, /* value: the peer's cell as it is now */
        answered, /* value: messages total */
        arrival, /* value: granted, extra: seq; result: verdict */
        reposted, /* value: how many */
        request, /* value: the notice's */
        told,
        cell_due,
        bulk_queued, /* value: bytes, extra: kind */
        next_bulk, /* result: bytes, kind and peer */
        stamp_bulk, /* result: value of the notice */
        bulk_done, /* value: bytes */
        read_done, /* value: bytes */
        bytes_arrived, /* value: bytes; result: 1 when there was credit */
        byte_request, /* value: the notice's */
        revoked, /* value: the notice's */
        bytes_revoked,
        given_back,
        bytes_given_back,
        tick,
        drain,
        calls
    };

    Call call      = join;
    uint32_t peer  = core::no_peer;
    uint64_t value = 0;
    uint64_t extra = 0;
    uint64_t now   = 0;
};

/* Does it; the result is 0 for calls that have none. */
uint64_t apply(core::Flow &flow, const Step &step, core::Actions &actions);

void write_config(std::ostream &out, const core::FlowConfig &config);
void write_step(std::ostream &out, const Step &step, uint64_t result,
                const core::Actions &actions);

/* Does all steps of a recorded run again. Throws std::runtime_error that names the line
 * when the text cannot be read, a result differs or an invariant breaks. Returns the
 * number of steps. */
uint64_t replay(std::istream &in);

} // namespace be::sim
