// SPDX-License-Identifier: BSD-3-Clause
//
// The numbered steps of connecting, recovering and leaving at which a process may be made to die, and the way to make it:
// BE_FAULT_POINT in its environment names the step, BE_FAULT_NTH says at which time of passing it, and where it died it
// writes the name to the descriptor in BE_FAULT_RECORD.

#pragma once

#include <cstdint>
#include <span>

namespace test {

// What is done to the process so that it comes there.
enum class Scene : std::uint8_t {
    connect,
    recover, // a queue pair fails
    resume, // the side channel is cut
    fall, // a link goes down, and data goes over the side channel
    cut, // ... and the side channel is cut
    rise, // ... and the link comes up again
    depart, // it says goodbye
    bereave // the other one does
};

enum Role : std::uint8_t {
    dialler  = 1, // connects first
    listener = 2,
    either   = dialler | listener
};

struct Point {
    unsigned number; // in docs/recovery.md
    const char *step; // as in BE_FAULT_POINT; "sent" and "received" go with a message
    Scene scene;
    Role role;
    unsigned nth  = 1; // resuming goes through steps of connecting again
    bool own_only = false; // comes there only if its own side fails
};

std::span<const Point> points();

} // namespace test
