// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target: what a peer can do on a control connection. Two sessions are brought to some
// point of their handshake; then one of them, the target, is driven by the input.
//
// Input: one byte that says how far the handshake goes (lower 3 bits), who is the target
// (bit 3: the client) and whether the client only probes (bit 4); then steps, one byte each (modulo the number of kinds) with what it
// needs: see Step. Whatever is missing at the end reads as zero.
//
// Aborts when a session breaks a promise of its header, above all when it believes that
// somebody is authenticated who was not.

#include "control/data_frame.hpp"
#include "control/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

using namespace be::control;

namespace {

enum Step : std::uint8_t {
    frame, // 2 bytes length, then as many bytes: a frame with that content
    raw, // 1 byte length, then as many bytes: the stream as it comes
    exchange, // the honest other end gets the output and answers
    accept,
    ready,
    refuse,
    close,
    pass_time, // 1 byte, in units of 200 ms
    clog, // the transport takes nothing of the output
    lose, // the stream ends
    recover,
    recovered,
    data, // 1 byte length, then as many bytes
    step_count,
};

constexpr std::uint64_t server_id       = 0x1111;
constexpr std::uint64_t client_id       = 0x2222;
constexpr std::uint64_t server_features = 0b0111 | feature_recovery | feature_tcp_path;
constexpr std::uint64_t client_features = 0b1110 | feature_recovery | feature_tcp_path;

void require(bool good)
{
    if (!good) {
        std::abort();
    }
}

class Input {
public:
    explicit Input(std::span<const std::uint8_t> bytes) : m_bytes(bytes)
    {
    }

    bool empty() const
    {
        return m_bytes.empty();
    }

    std::size_t byte()
    {
        return empty() ? 0 : take(1)[0];
    }

    std::span<const std::uint8_t> take(std::size_t count)
    {
        count      = std::min(count, m_bytes.size());
        auto taken = m_bytes.first(count);
        m_bytes    = m_bytes.subspan(count);
        return taken;
    }

private:
    std::span<const std::uint8_t> m_bytes;
};

LocalFabric fabric(std::uint64_t id, std::uint64_t features)
{
    LocalFabric result;

    result.identity.fabric_id = id;
    result.identity.token.fill(static_cast<std::uint8_t>(id));
    result.settings.features   = features;
    result.settings.max_queued = 4096;
    return result;
}

ConnectInfo info_of(std::uint64_t id)
{
    ConnectInfo info;

    info.fabric_id    = id;
    info.qps          = {{1, 2}, {3, 4}};
    info.mtu          = 3;
    info.segment_size = 8192;
    info.control.port = 4000;
    return info;
}

Nonce nonce_of(std::uint8_t value)
{
    Nonce nonce;

    nonce.fill(value);
    return nonce;
}

class World {
public:
    World(std::size_t handshake_steps, bool target_is_client, bool client_probes) :
        m_server(Session::server(
                [](std::uint64_t id) -> std::optional<LocalFabric> {
                    if (id != server_id) {
                        return std::nullopt;
                    }
                    return fabric(server_id, server_features);
                },
                nonce_of(1), m_now, m_now + std::chrono::seconds(2))),
        m_client(client_probes ?
                         Session::prober(fabric(client_id, client_features), server_id,
                                         m_now, m_now + std::chrono::seconds(2)) :
                         Session::client(fabric(client_id, client_features),
                                         fabric(server_id, 0).identity,
                                         info_of(client_id), nonce_of(2), m_now,
                                         m_now + std::chrono::seconds(2))),
        m_target(target_is_client ? m_client : m_server),
        m_other(target_is_client ? m_server : m_client)
    {
        for (std::size_t i = 0; i < handshake_steps; ++i) {
            m_server.accept(info_of(server_id));
            m_client.ready();
            carry((i % 2 == 0) ? m_server : m_client, (i % 2 == 0) ? m_client : m_server);
        }
        collect();
        m_may_authenticate = m_target.authenticated();
    }

    void step(Input &input)
    {
        switch (input.byte() % step_count) {
        case Step::frame: {
            auto length = input.byte();
            length |= input.byte() << 8;
            feed_frame(input.take(length));
            break;
        }
        case Step::raw:
            feed(m_target, input.take(input.byte()));
            break;
        case Step::exchange:
            // The other end is honest: it may well complete the handshake.
            m_may_authenticate = true;
            carry(m_target, m_other);
            carry(m_other, m_target);
            break;
        case Step::accept:
            m_target.accept(info_of(own_id()));
            break;
        case Step::ready:
            m_target.ready();
            break;
        case Step::refuse:
            m_target.refuse(Reason::incompatible, "fuzzed");
            break;
        case Step::close:
            m_target.close(input.byte() % 2 == 0, "fuzzed");
            break;
        case Step::pass_time:
            m_now += std::chrono::milliseconds(200) * input.byte();
            m_target.tick(m_now);
            break;
        case Step::clog:
            check_output(m_target.take_output().bytes);
            break;
        case Step::lose:
            m_target.lost(Reason::closed_by_peer, "fuzzed");
            break;
        case Step::recover:
            m_target.recover({1, path_rdma, {}, info_of(own_id())});
            break;
        case Step::recovered:
            m_target.recovered(1);
            break;
        case Step::data:
            m_target.data(DataFrame({.payload = input.take(input.byte())}).copy());
            break;
        }
        collect();
        check();
    }

private:
    std::uint64_t own_id() const
    {
        return (&m_target == &m_client) ? client_id : server_id;
    }

    void carry(Session &from, Session &to)
    {
        for (auto output = from.take_output(); !output.empty();
             output      = from.take_output()) {
            check_output(output.bytes);
            if (!output.is_data) {
                from.sent(output.size());
            }
            feed(to, output.bytes);
        }
    }

    // Each frame is copied to memory of exactly its size, for the sake of sanitizers.
    void feed_frame(std::span<const std::uint8_t> content)
    {
        std::vector<std::uint8_t> bytes(frame_header_size + content.size());

        bytes[0] = static_cast<std::uint8_t>(content.size());
        bytes[1] = static_cast<std::uint8_t>(content.size() >> 8);
        std::copy(content.begin(), content.end(), bytes.begin() + frame_header_size);
        feed(m_target, bytes);
    }

    // The events of the target are taken while the data in them is valid.
    void feed(Session &session, std::span<const std::uint8_t> bytes)
    {
        do {
            bytes = session.receive(bytes, m_now);
            if (&session == &m_target) {
                collect();
            }
        } while (!bytes.empty());
    }

    // Output consists of whole messages that the peer can read.
    static void check_output(std::span<const std::uint8_t> bytes)
    {
        FrameReader reader;

        reader.set_limit(max_frame_with_data);
        while (!bytes.empty()) {
            require(reader.read(bytes) == FrameReader::Status::complete);
            require(std::holds_alternative<Message>(decode(reader.frame())));
        }
    }

    void collect()
    {
        using Kind = SessionEvent::Kind;

        while (auto event = m_target.next_event()) {
            require(!m_closed);
            switch (event->kind) {
            case Kind::authenticated:
                require(!m_authenticated);
                m_authenticated = true;
                break;
            case Kind::connect:
            case Kind::accept:
                require(m_authenticated && !m_delivered);
                require((event->kind == Kind::connect) == (&m_target == &m_server));
                require(validate(event->info).empty());
                require(event->info.fabric_id == m_target.remote_fabric());
                require((event->info.features & ~(server_features & client_features)) ==
                        0);
                m_delivered = true;
                break;
            case Kind::ready:
                require(m_delivered && !m_ready && (&m_target == &m_server));
                m_ready = true;
                break;
            case Kind::recover:
                require(validate(event->recover).empty());
                require(event->recover.connect.fabric_id == m_target.remote_fabric());
                require_established();
                break;
            case Kind::recovered:
                require_established();
                break;
            case Kind::data:
                require_established();
                require(validate(event->data).empty());
                // Reads every byte, for the sake of sanitizers.
                m_sum = std::accumulate(event->data.header.begin(),
                                        event->data.header.end(), m_sum);
                m_sum = std::accumulate(event->data.payload.begin(),
                                        event->data.payload.end(), m_sum);
                break;
            case Kind::probed:
                require(!m_probed && !m_authenticated && (&m_target == &m_client));
                require(event->probe != ProbeResult::unknown);
                m_probed = true;
                break;
            case Kind::closed:
                m_closed = true;
                break;
            }
        }
    }

    // What only established sessions carry. A client is ready by its own decision.
    void require_established() const
    {
        require(m_delivered && (m_ready || (&m_target == &m_client)));
    }

    void check()
    {
        require(m_target.finished() == m_closed);
        require(m_target.authenticated() == m_authenticated);
        require(m_may_authenticate || !m_authenticated);
        require((m_target.deadline() == Session::Time::max()) == m_closed);
    }

    Session::Time m_now{std::chrono::hours(1)};
    Session m_server;
    Session m_client;
    Session &m_target;
    Session &m_other;
    bool m_may_authenticate = true;
    bool m_authenticated    = false;
    bool m_delivered        = false;
    bool m_ready            = false;
    unsigned m_sum          = 0; // of all data
    bool m_probed           = false;
    bool m_closed           = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    initialize_auth();

    Input input({data, size});
    auto start = input.byte();
    World world(start % 8, (start & 8) != 0, (start & 16) != 0);

    while (!input.empty()) {
        world.step(input);
    }
    return 0;
}
