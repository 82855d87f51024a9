// SPDX-License-Identifier: BSD-3-Clause
//
// The data rate behind the speed and width codes of ibv_port_attr.
#pragma once

#include <cstdint>

namespace be::verbs {

// Bytes per second after line coding; 0: unknown code. Codes: InfiniBand specification,
// PortInfo LinkSpeedActive and LinkWidthActive; RoCE drivers use the same.
double port_rate(uint8_t active_speed, uint8_t active_width);

} // namespace be::verbs
