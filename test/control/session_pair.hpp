// SPDX-License-Identifier: BSD-3-Clause
//
// Two sessions that talk to each other in memory, with a clock set by hand.

#pragma once

#include "control/session.hpp"
#include "samples.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <vector>

namespace be::control::test {

using Kind  = SessionEvent::Kind;
using State = Session::State;

// One end: the session, its fabric, and the events so far.
struct End {
    LocalFabric fabric;
    std::unique_ptr<Session> session;
    std::vector<SessionEvent> events;

    End();

    // Takes the events of the session over.
    void collect();

    // Takes events and output over; the output counts as sent.
    std::vector<Message> output();

    // The last event, which must be of this kind.
    const SessionEvent &last(Kind kind);

    bool has(Kind kind) const;

    // The reason of the one closed event, which must be there and be the last.
    Reason closed_for();
};

struct SessionPair {
    Session::Time now{std::chrono::hours(1)};
    End server;
    End client;
    Identity asked; // whom the client asks for
    std::chrono::milliseconds handshake_timeout{2000};

    // Both fabrics offer every feature.
    SessionPair();

    // Creates both sessions as the members say by then.
    void start();

    // Carries output back and forth until there is none.
    void exchange();

    // Gets the pair to where the server, or the client, is in this state.
    void advance_to(State state);

    void advance_clock(std::chrono::milliseconds time)
    {
        now += time;
    }

    // Gives a message to an end as if the other had sent it.
    void deliver(End &end, const Message &message);
};

} // namespace be::control::test
