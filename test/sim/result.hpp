// SPDX-License-Identifier: BSD-3-Clause
//
// What came of one scenario under one policy, and what our policy promises for it.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "driver.hpp"

namespace be::sim {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Percentiles {
    double p50     = unknown;
    double p99     = unknown;
    uint64_t count = 0;
};

Percentiles percentiles(std::vector<double> values);

/* Jain's fairness: 1 when all are equal, 1/n when one has all. */
double jain(const std::vector<double> &values);

struct Bounds {
    double goodput = 0; /* at least */
    double jain    = 0; /* at least */
    double victim  = 0; /* p99 over idle, at most; 0: no bound */
    double added   = 0; /* p50 over that without flow control, at most; 0: no bound */
};

struct Result {
    std::string scenario;
    std::string policy;
    double goodput = unknown; /* of what is possible */
    double jain    = unknown;
    Percentiles transfer_us;
    Percentiles victim_us; /* small messages beside the load */
    double idle_us      = unknown; /* p50 of the same without load */
    uint64_t pauses     = 0;
    double pause_us     = 0;
    uint64_t rnr        = 0;
    int64_t max_ingress = 0; /* bytes */
    int64_t max_buffer  = 0;
    DriverCounters driver;
    uint64_t events = 0;
    double seconds  = 0; /* that the simulation took */
    bool finished   = true;
    std::string note;

    double victim_ratio() const
    {
        return victim_us.p99 / idle_us;
    }
};

/* What of the bounds does not hold, in words; empty when all do. */
std::string missed(const Result &result, const Bounds &bounds);

} // namespace be::sim
