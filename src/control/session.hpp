// SPDX-License-Identifier: BSD-3-Clause
//
// The protocol of one control connection as a pure state machine: bytes, time
// and local decisions go in; bytes and events come out. No socket, thread,
// clock or randomness, so that tests and the fuzzer drive it directly;
// Connection is its driver in real life.
//
// Rules for the driver: after every call that can change something, take the
// events (next_event()), send the output (take_output(), then sent()), and see
// that tick() is called at deadline(). Once finished() is true nothing that
// arrives matters any more: send the remaining output and close the stream.

#pragma once

#include "control/chunk.hpp"
#include "control/codec.hpp"
#include "control/frame.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace be::control {

// A fabric of this process as its sessions see it.
struct LocalFabric {
    Identity identity;
    Settings settings;
};

// What happened in a session, for the fabric and for the driver's accounts.
struct SessionEvent {
    enum class Kind {
        authenticated, // both directions of the handshake are done
        connect, // the peer's Connect, in `info` (server)
        accept, // the peer's Accept, in `info` (client)
        ready, // the peer's Ready (server)
        recover, // the peer's Recover, in `recover`
        recovered, // the peer's Recovered: recover.epoch
        data, // the peer's Data, in `data`; valid until receive() is called again
        probed, // the answer to our Probe, in `probe`
        closed, // the session is over: `reason`, `detail`. Always the last.
    };

    Kind kind;
    ConnectInfo info{};
    RecoverInfo recover{};
    ProbeResult probe = ProbeResult::unknown;
    DataView data{};
    Reason reason = Reason::local;
    std::string detail{};
};

class Session {
public:
    using Clock = std::chrono::steady_clock;
    using Time  = Clock::time_point;

    enum class State {
        challenge_wait, // client: for the server's Challenge
        hello_wait, // server: for the client's Hello
        welcome_wait, // client: for the server's proof
        answer_wait, // prober: for Pong or Refuse
        connect_wait, // server: authenticated, for Connect
        accept_wait, // client: authenticated, Connect sent
        deciding, // server: Connect delivered, for accept() or refuse()
        confirming, // client: Accept delivered, for ready() or refuse()
        ready_wait, // server: Accept sent, for Ready
        established, // both ends are ready
        closed,
    };

    // Finds the attached fabric with this id.
    using Directory = std::function<std::optional<LocalFabric>(std::uint64_t)>;

    // The passive end. Speaks first. Has until `handshake_deadline` to receive
    // an authenticated Connect.
    static Session
    server(Directory directory, const Nonce &nonce, Time now, Time handshake_deadline);

    // The active end: `local` connects to `remote` and says `mine`. Has until
    // `handshake_deadline` to be welcomed.
    static Session client(const LocalFabric &local, const Identity &remote,
                          const ConnectInfo &mine, const Nonce &nonce, Time now,
                          Time handshake_deadline);

    // A client that only asks whether the fabric `remote` lives at the other end, on
    // behalf of `local`. Has until `deadline` to be answered.
    static Session
    prober(const LocalFabric &local, std::uint64_t remote, Time now, Time deadline);

    // Bytes from the peer, in any portions. Ignored once finished. Stops after each
    // Data, so that its event can be taken, and returns what is left to be received.
    std::span<const std::uint8_t> receive(std::span<const std::uint8_t> bytes, Time now);

    // See FrameReader: the rest of a frame may be put there instead, and is reported
    // with filled() and receive() of nothing.
    std::span<std::uint8_t> space() const noexcept
    {
        return m_reader.space();
    }
    void filled(std::size_t bytes) noexcept
    {
        m_reader.filled(bytes);
    }

    // While the driver does not read, the peer's silence means nothing.
    void set_paused(bool paused, Time now);

    // The stream ended or broke without a word.
    void lost(Reason reason, const std::string &detail);

    // Time has passed. Harmless to call early.
    void tick(Time now);

    // When tick() is due next; Time::max() when finished.
    Time deadline() const noexcept;

    // Local decisions. False when the state does not allow it.
    bool accept(const ConnectInfo &mine);
    bool ready();
    bool recover(const RecoverInfo &mine);
    bool recovered(std::uint32_t epoch);
    bool data(Chunk frame); // one DataFrame
    bool refuse(Reason reason, const std::string &text);
    bool close(bool goodbye, const std::string &detail);

    // Refuses as well, but is itself closed for the same reason.
    bool turn_away(Reason reason, const std::string &text);

    // The next output; empty when there is none. The driver reports with sent() what
    // the transport has taken of it; what is not reported counts against
    // Settings::max_queued. Data does not, and is not reported.
    Chunk take_output();
    void sent(std::size_t bytes) noexcept;

    // Data may be sent, and no output is to go before it: who sends it then without
    // data() and take_output() says so afterwards.
    bool may_send_data() const noexcept
    {
        return carries(feature_tcp_path) && m_ahead.empty() && m_output.empty();
    }
    void has_sent_data(std::size_t frames) noexcept
    {
        m_messages_out += frames;
    }

    // Where the bytes of a data event are. Who takes it may keep them.
    Block &memory() noexcept
    {
        return m_reader.memory();
    }

    std::size_t max_queued_data() const noexcept
    {
        return m_local.settings.max_queued_data;
    }

    std::optional<SessionEvent> next_event();

    bool finished() const noexcept
    {
        return m_state == State::closed;
    }

    State state() const noexcept
    {
        return m_state;
    }

    // The state in words, with the features where they matter.
    std::string situation() const;

    // True when it is there only to ask or, once it has, to answer a Probe.
    bool is_probe() const noexcept
    {
        return m_is_probe;
    }

    // True when it was closed because the peer did not read.
    bool clogged() const noexcept
    {
        return m_clogged;
    }

    // True from the state after the handshake on, and for ever.
    bool authenticated() const noexcept
    {
        return m_authenticated;
    }

    // The fabric of this process that it belongs to; 0 while a server does not
    // know yet.
    std::uint64_t local_fabric() const noexcept
    {
        return m_local.identity.fabric_id;
    }

    // The fabric at the other end, once it is known; a client's word until it
    // is authenticated.
    std::uint64_t remote_fabric() const noexcept
    {
        return m_remote.fabric_id;
    }

    std::uint64_t messages_in() const noexcept
    {
        return m_messages_in;
    }

    std::uint64_t messages_out() const noexcept
    {
        return m_messages_out;
    }

private:
    enum class Role {
        client,
        server
    };

    Session(Role role, const Nonce &nonce, Time now, Time handshake_deadline);

    // session.cpp: the machinery.
    bool in_handshake() const noexcept;
    Clock::duration ping_interval() const noexcept;
    void handle(const Message &message);
    void send(const Message &message);
    void send(Chunk data);
    void emit(SessionEvent event);
    void fail(Reason reason, const std::string &detail); // and tell the peer why
    void finish(Reason reason, const std::string &detail);

    // session_handshake.cpp, session_probe.cpp, session_traffic.cpp: what each message does. `on` is called only in a
    // state that allows the message.
    bool allows(const Message &message) const noexcept;
    void on(const Challenge &message);
    void on(const Hello &message);
    void on(const Welcome &message);
    void on(const Connect &message);
    void on(const Accept &message);
    void on(const Ready &message);
    void on(const Refuse &message);
    void on(const Ping &message);
    void on(const Pong &message);
    void on(const Goodbye &message);
    void on(const Recover &message);
    void on(const Recovered &message);
    void on(const Probe &message);
    void on(const Data &message);
    std::optional<LocalFabric> find_local(std::uint64_t fabric_id); // or fails
    void on_answered_probe(const Pong &message);
    void on_refused_probe(Reason reason);
    bool same_major(const Offer &peer);
    std::uint16_t common_minor() const noexcept;
    bool carries(std::uint64_t feature) const noexcept;
    bool is_of_peer(const ConnectInfo &info); // or fails
    void enter_authenticated(State next);
    void deliver(SessionEvent::Kind kind, State next, const ConnectInfo &info);

    State m_state;
    Directory m_directory; // server
    LocalFabric m_local; // server: from Hello on
    Identity m_remote; // server: id only, from Hello on
    ConnectInfo m_mine; // client: to be sent as Connect
    Transcript m_transcript; // filled while the handshake proceeds
    bool m_authenticated = false;
    bool m_is_probe      = false;
    bool m_clogged       = false;
    bool m_paused        = false;

    FrameReader m_reader;
    std::deque<Chunk> m_ahead; // output before m_output
    std::vector<std::uint8_t> m_output; // messages
    std::size_t m_unsent = 0; // bytes encoded and not reported by sent()
    std::deque<SessionEvent> m_events;
    std::uint64_t m_messages_in  = 0;
    std::uint64_t m_messages_out = 0;

    Time m_handshake_deadline;
    Time m_heard; // last time that bytes arrived
    Time m_pinged; // last time that a Ping was sent, or m_heard
    std::uint64_t m_pings_sent = 0; // also the value of the last Ping
    std::uint64_t m_pongs      = 0;
};

const char *to_string(Session::State state) noexcept;

} // namespace be::control
