// SPDX-License-Identifier: BSD-3-Clause
//
// Where to listen: "127.0.0.1:9400", that port only; "127.0.0.1:9400+", the first free one of 64 from there;
// "127.0.0.1:9400-9415", the first free one of these. "[::1]:9400" likewise. Port 0: any.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace be::metrics {

struct Where {
    std::string address; // numeric; with brackets if it is IPv6
    std::uint16_t first = 0;
    std::uint16_t last  = 0;
};

// Throws std::invalid_argument that says what was expected.
Where parse_where(std::string_view text);

// Could somebody listen there now? 0 or an errno value.
int try_port(const Where &where, std::uint16_t port) noexcept;

} // namespace be::metrics
