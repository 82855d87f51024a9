// SPDX-License-Identifier: BSD-3-Clause
//
// What each message of a session does, and in which states it may arrive.

#include "control/session.hpp"

#include "control/hex.hpp"

#include <algorithm>
#include <type_traits>

namespace be::control {

namespace {

using State = Session::State;

std::string version_text(std::uint16_t major, std::uint16_t minor)
{
    return std::to_string(major) + "." + std::to_string(minor);
}

// The states in which each message may arrive, besides those that are legal
// whenever the peer has authenticated itself.
struct Expected {
    State operator()(const Hello &) const
    {
        return State::hello_wait;
    }
    State operator()(const Probe &) const
    {
        return State::hello_wait;
    }
    State operator()(const Welcome &) const
    {
        return State::welcome_wait;
    }
    State operator()(const Connect &) const
    {
        return State::connect_wait;
    }
    State operator()(const Accept &) const
    {
        return State::accept_wait;
    }
    State operator()(const Ready &) const
    {
        return State::ready_wait;
    }
};

template<class T>
constexpr bool belongs_to_one_state = std::is_invocable_v<Expected, const T &>;

} // namespace

bool Session::allows(const Message &message) const noexcept
{
    return std::visit(
            [this]<class T>(const T &body) {
                if constexpr (belongs_to_one_state<T>) {
                    return m_state == Expected()(body);
                } else if constexpr (std::is_same_v<T, Refuse>) {
                    return true;
                } else if constexpr (std::is_same_v<T, Challenge>) {
                    return (m_state == State::challenge_wait) ||
                           (m_state == State::answer_wait);
                } else if constexpr (std::is_same_v<T, Pong>) {
                    return (m_state == State::answer_wait) || (m_pongs < m_pings_sent);
                } else if constexpr (std::is_same_v<T, Recover> ||
                                     std::is_same_v<T, Recovered>) {
                    return carries(feature_recovery);
                } else if constexpr (std::is_same_v<T, Data>) {
                    return carries(feature_tcp_path);
                } else {
                    static_assert(std::is_same_v<T, Ping> || std::is_same_v<T, Goodbye>);
                    return m_authenticated;
                }
            },
            message);
}

bool Session::same_major(const Offer &peer)
{
    if (peer.major == protocol_major) {
        return true;
    }

    fail(Reason::version, "protocol version " + version_text(peer.major, peer.minor) +
                                  " cannot work with " +
                                  version_text(protocol_major, protocol_minor) +
                                  ": major versions differ");
    return false;
}

std::uint16_t Session::common_minor() const noexcept
{
    return std::min(m_transcript.client.minor, m_transcript.server.minor);
}

void Session::enter_authenticated(State next)
{
    m_authenticated = true;
    m_state         = next;
    m_reader.set_limit(((m_transcript.agreed_features & feature_tcp_path) != 0) ?
                               max_frame_with_data :
                               max_frame);
    emit({.kind = SessionEvent::Kind::authenticated});
}

void Session::on(const Challenge &message)
{
    // Who asks only whether somebody is there speaks first, and in any version.
    if (m_state == State::answer_wait) {
        return;
    }
    if (!same_major(message.offer)) {
        return;
    }

    m_transcript.server = message.offer;
    m_state             = State::welcome_wait;
    send(Hello{m_transcript.client, m_transcript.from_fabric, m_transcript.to_fabric,
               prove(m_remote.token, m_transcript, Prover::client)});
}

std::optional<LocalFabric> Session::find_local(std::uint64_t fabric_id)
{
    auto local = m_directory(fabric_id);
    if (!local) {
        fail(Reason::unknown_fabric,
             "no fabric " + hex(fabric_id) + " here: its process has ended or restarted");
    }
    return local;
}

void Session::on(const Hello &message)
{
    if (!same_major(message.offer)) {
        return;
    }

    if (message.from_fabric == 0) {
        fail(Reason::malformed, "Hello from fabric 0, expected its id");
        return;
    }

    auto local = find_local(message.to_fabric);
    if (!local) {
        return;
    }

    m_transcript.client      = message.offer;
    m_transcript.from_fabric = message.from_fabric;
    m_transcript.to_fabric   = message.to_fabric;
    if (!same_proof(message.proof,
                    prove(local->identity.token, m_transcript, Prover::client))) {
        fail(Reason::authentication,
             "client of fabric " + hex(message.to_fabric) + " does not know its token");
        return;
    }

    m_local                      = *local;
    m_remote.fabric_id           = message.from_fabric;
    m_transcript.agreed_features = message.offer.features &
                                   (m_local.settings.features | constant_features);
    enter_authenticated(State::connect_wait);
    send(Welcome{common_minor(), m_transcript.agreed_features,
                 prove(m_local.identity.token, m_transcript, Prover::server)});
}

void Session::on(const Welcome &message)
{
    m_transcript.agreed_features = message.features;
    if (!same_proof(message.proof, prove(m_remote.token, m_transcript, Prover::server))) {
        fail(Reason::authentication,
             "server does not know the token of fabric " + hex(m_remote.fabric_id));
        return;
    }

    auto offered = m_transcript.client.features;
    if (((message.features & ~offered) != 0) || (message.minor != common_minor())) {
        fail(Reason::malformed,
             "Welcome agrees on minor version " + std::to_string(message.minor) +
                     " and features " + hex(message.features) + ", expected " +
                     std::to_string(common_minor()) + " and some of " + hex(offered));
        return;
    }

    // Who does not know the field would take it for a new connection.
    if (m_mine.resume && ((message.features & feature_recovery) == 0)) {
        fail(Reason::incompatible,
             "session " + hex(m_mine.session) +
                     " cannot be resumed: the peer offers no recovery");
        return;
    }

    enter_authenticated(State::accept_wait);
    send(Connect{m_mine});
}

bool Session::is_of_peer(const ConnectInfo &info)
{
    if (info.fabric_id == m_remote.fabric_id) {
        return true;
    }

    fail(Reason::malformed, "end of fabric " + hex(info.fabric_id) +
                                    " from a peer that authenticated as " +
                                    hex(m_remote.fabric_id));
    return false;
}

void Session::deliver(SessionEvent::Kind kind, State next, const ConnectInfo &info)
{
    if (!is_of_peer(info)) {
        return;
    }
    if (info.resume && ((m_transcript.agreed_features & feature_recovery) == 0)) {
        fail(Reason::unexpected, "resumption of session " + hex(info.session) +
                                         " without the feature recovery agreed");
        return;
    }

    m_state             = next;
    auto event          = SessionEvent{.kind = kind, .info = info};
    event.info.features = m_transcript.agreed_features;
    emit(std::move(event));
}

void Session::on(const Connect &message)
{
    deliver(SessionEvent::Kind::connect, State::deciding, message.info);
}

void Session::on(const Accept &message)
{
    deliver(SessionEvent::Kind::accept, State::confirming, message.info);
}

void Session::on(const Ready &)
{
    m_state = State::established;
    emit({.kind = SessionEvent::Kind::ready});
}

void Session::on(const Refuse &message)
{
    if (m_state == State::answer_wait) {
        on_refused_probe(message.reason);
    }
    finish(message.reason, std::string("peer refused (") + to_string(message.reason) +
                                   "): " + message.text);
}

void Session::on(const Ping &message)
{
    send(Pong{message.value});
}

void Session::on(const Pong &message)
{
    if (m_state == State::answer_wait) {
        on_answered_probe(message);
        return;
    }

    // Pings are answered in order.
    if (message.value != ++m_pongs) {
        fail(Reason::unexpected, "Pong with value " + std::to_string(message.value) +
                                         ", expected " + std::to_string(m_pongs));
    }
}

void Session::on(const Goodbye &)
{
    finish(Reason::goodbye, "the other fabric said goodbye");
}

const char *to_string(Session::State state) noexcept
{
    switch (state) {
    case Session::State::challenge_wait:
        return "waiting for Challenge";
    case Session::State::hello_wait:
        return "waiting for Hello";
    case Session::State::welcome_wait:
        return "waiting for Welcome";
    case Session::State::answer_wait:
        return "waiting for an answer";
    case Session::State::connect_wait:
        return "waiting for Connect";
    case Session::State::accept_wait:
        return "waiting for Accept";
    case Session::State::deciding:
        return "deciding on Connect";
    case Session::State::confirming:
        return "deciding on Accept";
    case Session::State::ready_wait:
        return "waiting for Ready";
    case Session::State::established:
        return "established";
    case Session::State::closed:
        return "closed";
    }

    return "unknown";
}

} // namespace be::control
