// SPDX-License-Identifier: BSD-3-Clause
//
// The messages of the control channel as plain values. docs/control.md tells who
// sends what, when; control.fbs is their form on the wire.

#pragma once

#include "control/auth.hpp"
#include "control/reason.hpp"
#include "control/types.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace be::control {

// Server's first word.
struct Challenge {
    Offer offer;
};

// Client's answer.
struct Hello {
    Offer offer;
    std::uint64_t from_fabric = 0;
    std::uint64_t to_fabric   = 0;
    Proof proof{};
};

// Server's answer to a good Hello. Both agreed values are also what the client
// computes from the two offers.
struct Welcome {
    std::uint16_t minor    = 0;
    std::uint64_t features = 0;
    Proof proof{};
};

struct Connect {
    ConnectInfo info;
};

struct Accept {
    ConnectInfo info;
};

struct Ready {};

struct Refuse {
    Reason reason = Reason::refused;
    std::string text;
};

struct Ping {
    std::uint64_t value = 0;
};

// Returns the value of a Ping, or the fabric id of a Probe.
struct Pong {
    std::uint64_t value = 0;
};

struct Goodbye {};

struct Recover {
    RecoverInfo info;
};

struct Recovered {
    std::uint32_t epoch = 0;
};

// Asks, in the place of Hello, whether this fabric lives here.
struct Probe {
    std::uint64_t to_fabric = 0;
};

// The bytes belong to whoever made it: to the frame, when it has been decoded.
struct Data {
    DataView view;
};

using Message = std::variant<Challenge, Hello, Welcome, Connect, Accept, Ready, Refuse,
                             Ping, Pong, Goodbye, Recover, Recovered, Probe, Data>;

// "Hello", "Connect", ...
const char *name_of(const Message &message) noexcept;

} // namespace be::control
