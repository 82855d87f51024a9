// SPDX-License-Identifier: BSD-3-Clause
//
// Why the path to a peer was lost, and on which side the fault is.

#pragma once

#include "verbs/completion_queue.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace be::engine {

struct Fault {
    enum class Side : std::uint8_t {
        unknown,
        local, // our device, port, queue pair or process
        remote // theirs, or the network between
    };

    Fault() = default;

    // A local one that no completion told of.
    Fault(std::string words) : side(Side::local), text(std::move(words))
    {
    }

    Fault(Side where, std::uint32_t number, std::string words) :
        side(where), qpn(number), text(std::move(words))
    {
    }

    // "remote fault: message queue pair 0x12 on mlx5_0: ..."
    std::string describe() const;

    Side side                  = Side::unknown;
    std::uint32_t qpn          = 0; // ours that failed; 0: none in particular
    std::uint32_t status       = 0; // ibv_wc_status; 0: no completion told
    std::uint32_t vendor_error = 0;
    std::string text; // names device, queue pair and status
};

// Of a completion that failed. `port_is_up`: of our own port.
Fault::Side side_of(ibv_wc_status status, bool port_is_up) noexcept;
Fault fault_of(const ibv_wc &wc, const std::string &queue, bool port_is_up);

// "local", "remote", ""; never null.
const char *to_string(Fault::Side side) noexcept;

} // namespace be::engine
