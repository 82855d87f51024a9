// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port_rate.hpp"

namespace be::verbs {
namespace {

// Data bits per second of one lane.
double lane_rate(uint8_t speed)
{
    switch (speed) {
    case 1: // SDR, 2.5 Gb/s, 8b/10b
        return 2e9;
    case 2: // DDR, 5 Gb/s, 8b/10b
        return 4e9;
    case 4: // QDR, 10 Gb/s, 8b/10b
        return 8e9;
    case 8: // FDR10, 10.3125 Gb/s, 64b/66b
        return 10e9;
    case 16: // FDR, 14.0625 Gb/s, 64b/66b
        return 14.0625e9 * 64 / 66;
    case 32: // EDR, 25.78125 Gb/s, 64b/66b
        return 25e9;
    case 64: // HDR, 50 Gb/s of data
        return 50e9;
    case 128: // NDR, 100 Gb/s of data
        return 100e9;
    default:
        return 0;
    }
}

unsigned lanes(uint8_t width)
{
    switch (width) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 0;
    }
}

} // namespace

double port_rate(uint8_t active_speed, uint8_t active_width)
{
    return lane_rate(active_speed) * lanes(active_width) / 8;
}

} // namespace be::verbs
