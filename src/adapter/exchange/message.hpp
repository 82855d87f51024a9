// SPDX-License-Identifier: BSD-3-Clause
//
// What a client and a server tell each other over TCP before they talk over UCP.
//
//   client                                server
//   hello      features, nonce       ->
//                                    <-   challenge  features, token wanted, nonce
//   join       proof, connection,    ->
//              turn, worker address
//                                    <-   welcome    proof, connection, turn, incarnation,
//                                                    window, worker address
//   goodbye    text                 <->   goodbye    text
//
// A goodbye instead of an answer is a refusal. `join` comes again when the client cannot
// take the turn that it was offered (Worker::connect).
//
// Each message starts with 8 bytes: u32 magic, u8 version, u8 kind, u16 length of the rest.
// Numbers are little-endian. Decoding checks everything, and reads nothing outside its span.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace be::adapter::exchange {

inline constexpr std::uint32_t magic      = 0x31584542; // "BEX1"
inline constexpr std::uint8_t version     = 1;
inline constexpr std::size_t head_size    = 8;
inline constexpr std::size_t max_rest     = 32768;
inline constexpr std::size_t max_farewell = 1000; // bytes of a goodbye's text

// Bits that both sides set are used.
inline constexpr std::uint32_t feature_streams = 1; // wire::Kind::part and credit
inline constexpr std::uint32_t known_features  = feature_streams;

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

enum class Kind : std::uint8_t {
    hello     = 1,
    challenge = 2,
    join      = 3,
    welcome   = 4,
    goodbye   = 5,
};

struct Message {
    Kind kind                 = Kind::hello;
    bool token_wanted         = false; // challenge
    std::uint32_t features    = 0; // hello, challenge
    Nonce nonce               = {}; // hello, challenge
    Proof proof               = {}; // join, welcome
    std::uint64_t connection  = 0; // join, welcome: the sender's number, never 0
    std::uint64_t incarnation = 0; // welcome, never 0
    std::uint32_t window      = 0; // welcome: requests under way, never 0
    std::uint32_t turn        = 0; // join, welcome

    // decoded: inside the span that was decoded
    std::span<const std::byte> address = {}; // join, welcome: never empty
    std::string_view text              = {}; // goodbye
};

// The whole message. An address that does not fit makes it empty; a text is cut.
std::vector<std::byte> encode(const Message &message);

struct Head {
    Kind kind        = Kind::hello;
    std::size_t rest = 0; // bytes that follow, at most max_rest
};

// Nothing when it is none: then *why (never null) says what is wrong.
std::optional<Head>
decode_head(std::span<const std::byte, head_size> from, const char **why) noexcept;
std::optional<Message>
decode_rest(Kind kind, std::span<const std::byte> rest, const char **why) noexcept;

// The part of the rest of a join or a welcome that its proof speaks for.
std::span<const std::byte> proven(std::span<const std::byte> rest) noexcept;

// Puts a proof into an encoded join or welcome.
void set_proof(std::vector<std::byte> &encoded, const Proof &proof) noexcept;

} // namespace be::adapter::exchange
