// SPDX-License-Identifier: BSD-3-Clause
//
// The machinery of a session: input, output, time and endings. What the
// messages mean is in session_handshake.cpp.

#include "control/session.hpp"

#include "control/fault_point.hpp"
#include "control/hex.hpp"

#include <algorithm>
#include <utility>

namespace be::control {

namespace {

constexpr auto minimum_peer_timeout = std::chrono::milliseconds(10);

// A busy machine may run a timer this late; what is later was a standstill. Also
// the time that a handshake gets to go on after one.
constexpr auto stall = std::chrono::milliseconds(500);

Session::Clock::duration peer_timeout(const Settings &settings)
{
    return std::max<Session::Clock::duration>(settings.peer_timeout,
                                              minimum_peer_timeout);
}

std::string in_milliseconds(Session::Clock::duration time)
{
    auto count = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    return std::to_string(count) + " ms";
}

} // namespace

Session::Session(Role role, const Nonce &nonce, Time now, Time handshake_deadline) :
    m_state((role == Role::client) ? State::challenge_wait : State::hello_wait),
    m_handshake_deadline(handshake_deadline),
    m_heard(now),
    m_pinged(now)
{
    auto &own = (role == Role::client) ? m_transcript.client : m_transcript.server;

    own.major    = protocol_major;
    own.minor    = protocol_minor;
    own.features = constant_features;
    own.nonce    = nonce;
}

Session Session::server(Directory directory, const Nonce &nonce, Time now,
                        Time handshake_deadline)
{
    Session session(Role::server, nonce, now, handshake_deadline);

    session.m_directory = std::move(directory);
    session.send(Challenge{session.m_transcript.server});
    return session;
}

Session Session::client(const LocalFabric &local, const Identity &remote,
                        const ConnectInfo &mine, const Nonce &nonce, Time now,
                        Time handshake_deadline)
{
    Session session(Role::client, nonce, now, handshake_deadline);

    session.m_local  = local;
    session.m_remote = remote;
    session.m_mine   = mine;
    session.m_transcript.client.features |= local.settings.features;
    session.m_transcript.from_fabric = local.identity.fabric_id;
    session.m_transcript.to_fabric   = remote.fabric_id;
    return session;
}

std::span<const std::uint8_t>
Session::receive(std::span<const std::uint8_t> bytes, Time now)
{
    m_heard  = now;
    m_pinged = now;

    while (!finished()) {
        switch (m_reader.read(bytes)) {
        case FrameReader::Status::incomplete:
            return {};
        case FrameReader::Status::bad_length: {
            auto length = m_reader.announced_length();
            auto text   = "frame of " + std::to_string(length) + " bytes, expected " +
                        std::to_string(min_frame) + ".." +
                        std::to_string(m_reader.limit());
            fail((length < min_frame) ? Reason::malformed : Reason::oversized, text);
            return {};
        }
        case FrameReader::Status::complete:
            break;
        }

        ++m_messages_in;
        auto decoded = decode(m_reader.frame());
        if (auto *error = std::get_if<DecodeError>(&decoded)) {
            fail(Reason::malformed, error->text);
        } else {
            const auto &message = std::get<Message>(decoded);
            handle(message);
            if (std::holds_alternative<Data>(message)) {
                return bytes;
            }
        }
    }
    return {};
}

void Session::set_paused(bool paused, Time now)
{
    m_paused = paused;
    m_heard  = now;
}

void Session::handle(const Message &message)
{
    if (!allows(message)) {
        fail(Reason::unexpected,
             std::string(name_of(message)) + " in state " + situation());
        return;
    }

    BE_FAULT_POINT("received", name_of(message));
    std::visit([&](const auto &body) { on(body); }, message);
}

std::string Session::situation() const
{
    std::string text = to_string(m_state);

    if (m_state == State::established) {
        text += " with features " + hex(m_transcript.agreed_features);
    }
    return text;
}

void Session::lost(Reason reason, const std::string &detail)
{
    finish(reason, detail);
}

bool Session::in_handshake() const noexcept
{
    return !m_authenticated || (m_state == State::connect_wait);
}

Session::Clock::duration Session::ping_interval() const noexcept
{
    return peer_timeout(m_local.settings) / 3;
}

Session::Time Session::deadline() const noexcept
{
    if (finished()) {
        return Time::max();
    }
    if (in_handshake()) {
        return m_handshake_deadline;
    }
    return std::min(m_heard + peer_timeout(m_local.settings), m_pinged + ping_interval());
}

void Session::tick(Time now)
{
    auto due = deadline();
    if (finished() || (now < due)) {
        return;
    }

    // A tick that comes far too late means that this process did not run: it
    // was stopped, or the machine slept. Then the silence is our own, and
    // whatever the peer sent meanwhile is still to be read.
    bool was_asleep = (now - due) > std::max<Clock::duration>(ping_interval(), stall);

    if (in_handshake()) {
        if (was_asleep) {
            m_handshake_deadline = now + stall;
            return;
        }
        fail(Reason::timeout,
             std::string("handshake not finished in time, state ") + to_string(m_state));
        return;
    }

    if (was_asleep || m_paused) {
        m_heard = now;
    }
    if (now - m_heard >= peer_timeout(m_local.settings)) {
        fail(Reason::timeout, "silent for " + in_milliseconds(now - m_heard));
        return;
    }

    m_pinged = now;
    send(Ping{++m_pings_sent});
}

bool Session::accept(const ConnectInfo &mine)
{
    if (m_state != State::deciding) {
        return false;
    }

    m_state = State::ready_wait;
    send(Accept{mine});
    return true;
}

bool Session::ready()
{
    if (m_state != State::confirming) {
        return false;
    }

    m_state = State::established;
    send(Ready{});
    return true;
}

bool Session::refuse(Reason reason, const std::string &text)
{
    if (finished()) {
        return false;
    }

    send(Refuse{reason, text});
    finish(Reason::local,
           std::string("refused here (") + to_string(reason) + "): " + text);
    return true;
}

bool Session::turn_away(Reason reason, const std::string &text)
{
    if (finished()) {
        return false;
    }

    fail(reason, text);
    return true;
}

bool Session::close(bool goodbye, const std::string &detail)
{
    if (finished()) {
        return false;
    }

    if (goodbye && m_authenticated) {
        send(Goodbye{});
    }
    finish(Reason::local, detail);
    return true;
}

Chunk Session::take_output()
{
    if (m_ahead.empty()) {
        return m_output.empty() ? Chunk() : Chunk::of(std::exchange(m_output, {}));
    }

    auto chunk = std::move(m_ahead.front());
    m_ahead.pop_front();
    return chunk;
}

void Session::sent(std::size_t bytes) noexcept
{
    m_unsent -= std::min(bytes, m_unsent);
    BE_FAULT_SENT(m_unsent == 0);
}

std::optional<SessionEvent> Session::next_event()
{
    if (m_events.empty()) {
        return std::nullopt;
    }

    auto event = std::move(m_events.front());
    m_events.pop_front();
    return event;
}

void Session::send(const Message &message)
{
    if (finished()) {
        return;
    }

    auto before = m_output.size();
    encode(message, m_output);
    m_unsent += m_output.size() - before;
    ++m_messages_out;
    BE_FAULT_SENDING(name_of(message));
    if (m_unsent > m_local.settings.max_queued) {
        m_clogged = true;
        finish(Reason::resources, "peer does not read: " + std::to_string(m_unsent) +
                                          " bytes queued, limit " +
                                          std::to_string(m_local.settings.max_queued));
    }
}

void Session::send(Chunk data)
{
    if (!m_output.empty()) {
        m_ahead.push_back(Chunk::of(std::exchange(m_output, {})));
    }
    m_ahead.push_back(std::move(data));
    ++m_messages_out;
}

void Session::emit(SessionEvent event)
{
    m_events.push_back(std::move(event));
}

void Session::fail(Reason reason, const std::string &detail)
{
    send(Refuse{reason, detail});
    finish(reason, detail);
}

void Session::finish(Reason reason, const std::string &detail)
{
    if (finished()) {
        return;
    }

    m_state = State::closed;
    emit({.kind = SessionEvent::Kind::closed, .reason = reason, .detail = detail});
}

} // namespace be::control
