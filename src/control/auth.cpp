// SPDX-License-Identifier: BSD-3-Clause

#include "control/auth.hpp"

#include <sodium.h>

#include <cstring>
#include <system_error>

namespace be::control {

namespace {

static_assert(sizeof(Token) >= crypto_generichash_KEYBYTES_MIN);
static_assert(sizeof(Token) <= crypto_generichash_KEYBYTES_MAX);
static_assert(sizeof(Proof) == crypto_generichash_BYTES);

// Feeds values to the hash in a fixed byte order, so that both ends of a
// connection hash the same bytes whatever machine they run on.
class Hash {
public:
    explicit Hash(const Token &token) noexcept
    {
        crypto_generichash_init(&m_state, token.data(), token.size(), sizeof(Proof));
    }

    ~Hash()
    {
        sodium_memzero(&m_state, sizeof(m_state));
    }

    void add(const void *data, std::size_t size) noexcept
    {
        crypto_generichash_update(&m_state, static_cast<const unsigned char *>(data),
                                  size);
    }

    void add(std::uint64_t value) noexcept
    {
        unsigned char bytes[8];
        for (unsigned i = 0; i < sizeof(bytes); ++i) {
            bytes[i] = static_cast<unsigned char>(value >> (8 * i));
        }
        add(bytes, sizeof(bytes));
    }

    void add(const Offer &offer) noexcept
    {
        add(offer.major);
        add(offer.minor);
        add(offer.features);
        add(offer.nonce.data(), offer.nonce.size());
    }

    Proof finish() noexcept
    {
        Proof proof;
        crypto_generichash_final(&m_state, proof.data(), proof.size());
        return proof;
    }

private:
    crypto_generichash_state m_state;
};

} // namespace

void initialize_auth()
{
    if (sodium_init() < 0) {
        throw std::system_error(
                std::make_error_code(std::errc::no_such_device),
                "control channel: libsodium found no source of randomness");
    }
}

Proof prove(const Token &token, const Transcript &transcript, Prover prover) noexcept
{
    static constexpr char label[] = "byteexpress control handshake";
    Hash hash(token);

    hash.add(label, sizeof(label));
    hash.add(static_cast<std::uint64_t>(prover));
    hash.add(transcript.server);
    hash.add(transcript.client);
    hash.add(transcript.from_fabric);
    hash.add(transcript.to_fabric);
    hash.add(transcript.agreed_features);
    return hash.finish();
}

bool same_proof(const Proof &a, const Proof &b) noexcept
{
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Token random_token() noexcept
{
    Token token;
    randombytes_buf(token.data(), token.size());
    return token;
}

Nonce random_nonce() noexcept
{
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

std::uint64_t random_fabric_id() noexcept
{
    std::uint64_t id;

    do {
        randombytes_buf(&id, sizeof(id));
    } while (id == 0);

    return id;
}

} // namespace be::control
