// SPDX-License-Identifier: BSD-3-Clause
//
// The secret that clients and servers share, and proofs of knowing it.
//
// Both sides contribute a nonce; a proof is a keyed BLAKE2b hash (libsodium) over the role
// of who proves, both nonces, and what the message says. So it is worth nothing for another
// connection, direction, address or number. The secret is never sent.
#pragma once

#include "adapter/exchange/message.hpp"

#include <string>

namespace be::adapter::exchange {

class Secret {
public:
    static constexpr std::size_t min_size = 16; // bytes of a token
    static constexpr std::size_t max_size = 1024;

    // `token` or, if that is empty, the variable BE_TOKEN; without both there is none.
    // Throws Error naming where the token is from and which lengths are allowed.
    explicit Secret(const std::string &token);

    explicit operator bool() const noexcept
    {
        return m_set;
    }

    enum class Role : std::uint8_t {
        client = 1,
        server = 2
    };

    // All zero when there is no secret.
    Proof prove(Role role, const Nonce &client, const Nonce &server,
                std::span<const std::byte> what) const noexcept;

    // Constant time.
    static bool same(const Proof &a, const Proof &b) noexcept;

    // From the system's random source.
    static Nonce nonce() noexcept;

private:
    std::array<unsigned char, 32> m_key = {};
    bool m_set                          = false;
};

} // namespace be::adapter::exchange
