// SPDX-License-Identifier: BSD-3-Clause
//
// Address handles: where a datagram goes.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softrdma {

struct address_handle : ibv_ah {
    ibv_ah_attr attr{};
    uint32_t device = 0; // it leads to; no_device when there is none

    static address_handle *from(ibv_ah *ah)
    {
        return static_cast<address_handle *>(ah);
    }
};

} // namespace softrdma
