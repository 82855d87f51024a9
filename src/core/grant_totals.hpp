// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's side of credit of any kind: the totals of one of those it grants to. A
// peer of the receive pool (messages) and a channel of the byte pool (units of bytes) add
// what decides their turn.
//
//   granted, arrived, demand  G, A and D of the pools; A is never ahead of G, nor D
//                             behind A
//   told                      the latest G that is on its way to the sender
//   returned                  what the sender has given back; it counts as arrived
//   keep                      what it may keep by the last revoke

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/serial.hpp"

namespace be::core {

struct GrantTotals {
    uint32_t granted  = 0;
    uint32_t arrived  = 0;
    uint32_t demand   = 0;
    uint32_t told     = 0;
    uint32_t returned = 0;
    uint32_t keep     = 0;
    bool member       = false;
    bool revoking     = false; /* an answer to a revoke is to come */

    void start(uint32_t first_total)
    {
        granted = arrived = demand = told = first_total;
        member                            = true;
    }

    uint32_t outstanding() const
    {
        return granted - arrived;
    }

    /* Wanted and not granted. */
    uint32_t open() const
    {
        return static_cast<uint32_t>(std::max(0, serial_diff(demand, granted)));
    }

    /* Granted and not wanted. */
    uint32_t standing() const
    {
        return static_cast<uint32_t>(std::max(0, serial_diff(granted, demand)));
    }

    void use_up(uint32_t amount)
    {
        arrived += amount;
        demand = serial_max(demand, arrived);
    }

    void want(uint32_t demand_total)
    {
        demand = serial_max(demand, demand_total);
    }

    /* Nothing of it can arrive any more. */
    void close()
    {
        arrived = demand = granted;
        member           = false;
    }

    /* What the sender newly gave back, of `held` that it can have; -1: nonsense. */
    int32_t newly_returned(uint32_t total, uint32_t held) const
    {
        int32_t amount = serial_diff(total, returned);

        return ((amount < 0) || (static_cast<uint32_t>(amount) > held)) ? -1 : amount;
    }

    /* In words, or empty. */
    const char *check() const
    {
        if (serial_less(granted, arrived)) {
            return "more arrived than was granted";
        }
        if (serial_less(demand, arrived)) {
            return "a demand total is behind what arrived";
        }
        if (serial_less(granted, told)) {
            return "somebody was told more than was granted";
        }
        return "";
    }
};

} // namespace be::core
