// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace be::tools {

/** What a process holds. */
struct Footprint {
    uint64_t resident    = 0; //< bytes
    uint64_t descriptors = 0; //< open files
};

/** Of this process. @throws std::system_error when /proc tells nothing. */
Footprint read_footprint();

/** From one to the other; less is none. */
Footprint growth(const Footprint &before, const Footprint &after) noexcept;

} // namespace be::tools
