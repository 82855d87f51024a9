// SPDX-License-Identifier: BSD-3-Clause
//
// Which attributes a queue pair's state change requires and allows.
#pragma once

#include <infiniband/verbs.h>

namespace softrdma {

// Whether a queue pair of that type may go from one state to another with exactly these attributes.
bool modify_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

} // namespace softrdma
