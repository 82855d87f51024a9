// SPDX-License-Identifier: BSD-3-Clause
//
// A session that asks whether a fabric lives at the other end, and its answer. It
// proves nothing and learns no more than that, which anybody could learn from
// what a Hello for the same fabric is answered.

#include "control/hex.hpp"
#include "control/session.hpp"

namespace be::control {

Session
Session::prober(const LocalFabric &local, std::uint64_t remote, Time now, Time deadline)
{
    Session session(Role::client, {}, now, deadline);

    session.m_local            = local;
    session.m_remote.fabric_id = remote;
    session.m_is_probe         = true;
    session.m_state            = State::answer_wait;
    session.send(Probe{remote});
    return session;
}

void Session::on(const Probe &message)
{
    if (find_local(message.to_fabric)) {
        m_is_probe = true;
        send(Pong{message.to_fabric});
        finish(Reason::goodbye, "answered a probe");
    }
}

void Session::on_answered_probe(const Pong &message)
{
    if (message.value == m_remote.fabric_id) {
        emit({.kind = SessionEvent::Kind::probed, .probe = ProbeResult::alive});
        finish(Reason::goodbye, "the probe has been answered");
    } else {
        fail(Reason::malformed, "Pong with value " + hex(message.value) +
                                        " to a Probe for fabric " +
                                        hex(m_remote.fabric_id));
    }
}

void Session::on_refused_probe(Reason reason)
{
    switch (reason) {
    case Reason::unknown_fabric:
        emit({.kind = SessionEvent::Kind::probed, .probe = ProbeResult::gone});
        break;
    case Reason::unexpected:
    case Reason::malformed:
        // A release that does not know Probe: somebody is there, at least.
        emit({.kind = SessionEvent::Kind::probed, .probe = ProbeResult::alive});
        break;
    default:
        break;
    }
}

} // namespace be::control
