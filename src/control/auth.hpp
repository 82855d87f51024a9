// SPDX-License-Identifier: BSD-3-Clause
//
// Proof of knowledge of a fabric's token, without showing the token.
//
// Both ends of a connection contribute a nonce and then show a keyed BLAKE2b
// hash (libsodium's crypto_generichash, keyed with the token) over everything
// that the handshake has agreed on and the role of the prover. A recorded
// proof is worthless for another connection (fresh nonces), for the other
// direction (role) and for other versions or features (no downgrade).

#pragma once

#include <array>
#include <cstdint>

namespace be::control {

// 128-bit secret of a fabric, part of its interface address. Who has the
// address may connect; the token itself never travels over a control
// connection.
using Token = std::array<std::uint8_t, 16>;

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;

// What one end says of itself in the handshake. A server does not know yet which
// fabric is asked for: its Challenge offers no features, its Welcome says what is
// agreed.
struct Offer {
    std::uint16_t major    = 0;
    std::uint16_t minor    = 0;
    std::uint64_t features = 0;
    Nonce nonce{};

    bool operator==(const Offer &) const = default;
};

// Everything that a proof covers.
struct Transcript {
    Offer server;
    Offer client;
    std::uint64_t from_fabric     = 0; // client's
    std::uint64_t to_fabric       = 0; // server's, the one that the token belongs to
    std::uint64_t agreed_features = 0; // server's proof; the client proves before it knows
};

enum class Prover : std::uint8_t {
    client = 1,
    server = 2
};

// Initialises libsodium (idempotent, any thread). Throws std::system_error
// when the machine offers no source of randomness. Call it before any other
// function of this file.
void initialize_auth();

Proof prove(const Token &token, const Transcript &transcript, Prover prover) noexcept;

// Constant-time comparison.
bool same_proof(const Proof &a, const Proof &b) noexcept;

// From the system's random source.
Token random_token() noexcept;
Nonce random_nonce() noexcept;
std::uint64_t random_fabric_id() noexcept; // never 0

} // namespace be::control
