// SPDX-License-Identifier: BSD-3-Clause
//
// What a process that died at any instruction owes its peers: receives it had claimed and not completed,
// wake-ups and reports it had not sent.
#pragma once

namespace softrdma {

class process;

// Called by the service thread when some process that was attached here is gone.
void reclaim_from_dead(process &me);

} // namespace softrdma
