// SPDX-License-Identifier: BSD-3-Clause
//
// The policies that are compared.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "driver.hpp"

namespace be::sim {

enum class Policy : uint8_t {
    none, /* everything is posted at once */
    fixed, /* 512 message credits for each peer, as UCX rc: from no common pool */
    swift, /* a window that follows the delay, for each peer */
    product /* be::core::Flow */
};

const char *to_string(Policy policy);

struct PolicyConfig {
    Policy policy     = Policy::product;
    double gbps       = 100; /* of the port */
    Time loop         = 11'400 * nanosecond; /* idle: credit granted -> its use arrived */
    int64_t segment   = 8192; /* most bytes of a SEND */
    int64_t chunk     = 65536; /* most bytes of a WRITE or READ of the baselines */
    uint32_t receives = 4096; /* posted at each host */

    /* Bytes that the path holds when it is just full. */
    int64_t path_bytes() const
    {
        return static_cast<int64_t>(gbps * static_cast<double>(loop) / 8 / nanosecond);
    }
};

std::unique_ptr<Driver> make_driver(const PolicyConfig &config, World &world,
                                    uint32_t host, const std::string &trace);

} // namespace be::sim
