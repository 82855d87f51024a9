// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/secret.hpp"

#include <byteexpress/status.hpp>

#include <cstdlib>

#include <sodium.h>

namespace be::adapter::exchange {

namespace {

const unsigned char *raw(std::span<const std::byte> bytes) noexcept
{
    return reinterpret_cast<const unsigned char *>(bytes.data());
}

} // namespace

Secret::Secret(const std::string &token)
{
    const char *variable    = std::getenv("BE_TOKEN");
    const bool given        = !token.empty();
    const std::string value = given ? token : ((variable != nullptr) ? variable : "");

    if (sodium_init() < 0) {
        throw Error(Status::closed, "libsodium finds no source of random numbers");
    }
    if (value.empty()) {
        return;
    }
    if ((value.size() < min_size) || (value.size() > max_size)) {
        throw Error(Status::closed,
                    std::string(given ? "RuntimeOptions::token" : "variable BE_TOKEN") +
                            " has " + std::to_string(value.size()) + " bytes: expected " +
                            std::to_string(min_size) + " to " + std::to_string(max_size) +
                            ", or none at all");
    }
    crypto_generichash(m_key.data(), m_key.size(),
                       reinterpret_cast<const unsigned char *>(value.data()),
                       value.size(), nullptr, 0);
    m_set = true;
}

Proof Secret::prove(Role role, const Nonce &client, const Nonce &server,
                    std::span<const std::byte> what) const noexcept
{
    Proof proof{};

    if (m_set) {
        const auto who = static_cast<unsigned char>(role);
        crypto_generichash_state state;
        crypto_generichash_init(&state, m_key.data(), m_key.size(), proof.size());
        crypto_generichash_update(&state, &who, 1);
        crypto_generichash_update(&state, raw(client), client.size());
        crypto_generichash_update(&state, raw(server), server.size());
        crypto_generichash_update(&state, raw(what), what.size());
        crypto_generichash_final(&state, reinterpret_cast<unsigned char *>(proof.data()),
                                 proof.size());
    }
    return proof;
}

bool Secret::same(const Proof &a, const Proof &b) noexcept
{
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Nonce Secret::nonce() noexcept
{
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

} // namespace be::adapter::exchange
