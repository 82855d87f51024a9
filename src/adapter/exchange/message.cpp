// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/exchange/message.hpp"

#include "adapter/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace be::adapter::exchange {

namespace {

// Offsets within the rest of hello and challenge,
constexpr std::size_t at_features = 0;
constexpr std::size_t at_wanted   = 4; // u32; 0 in a hello
constexpr std::size_t at_nonce    = 8;
constexpr std::size_t opening     = at_nonce + sizeof(Nonce);

// and of join and welcome.
constexpr std::size_t at_proof       = 0;
constexpr std::size_t at_connection  = sizeof(Proof);
constexpr std::size_t at_incarnation = at_connection + 8;
constexpr std::size_t at_window      = at_incarnation + 8;
constexpr std::size_t at_turn        = at_window + 4;
constexpr std::size_t at_address     = at_turn + 4;

bool is_opening(Kind kind) noexcept
{
    return (kind == Kind::hello) || (kind == Kind::challenge);
}

std::size_t rest_size(const Message &message) noexcept
{
    if (message.kind == Kind::goodbye) {
        return std::min(message.text.size(), max_farewell);
    }
    return is_opening(message.kind) ? opening : at_address + message.address.size();
}

const char *check_opening(const Message &message, std::uint32_t wanted) noexcept
{
    if (wanted > ((message.kind == Kind::challenge) ? 1u : 0u)) {
        return "reserved bytes are not 0";
    }
    return nullptr;
}

const char *check_joining(const Message &message) noexcept
{
    if (message.connection == 0) {
        return "a connection without a number";
    }
    if (message.address.empty()) {
        return "no worker address";
    }
    const bool service = (message.incarnation != 0) && (message.window != 0);
    const bool nothing = (message.incarnation == 0) && (message.window == 0);
    if (message.kind == Kind::welcome) {
        return service ? nullptr : "a welcome without incarnation or limit";
    }
    return nothing ? nullptr : "reserved bytes are not 0";
}

} // namespace

std::vector<std::byte> encode(const Message &message)
{
    const std::size_t rest = rest_size(message);

    if (rest > max_rest) {
        return {};
    }
    std::vector<std::byte> bytes(head_size + rest);
    put(bytes.data(), magic);
    put(bytes.data() + 4, version);
    put(bytes.data() + 5, static_cast<std::uint8_t>(message.kind));
    put(bytes.data() + 6, static_cast<std::uint16_t>(rest));

    std::byte *at = bytes.data() + head_size;
    if (message.kind == Kind::goodbye) {
        std::copy_n(reinterpret_cast<const std::byte *>(message.text.data()), rest, at);
    } else if (is_opening(message.kind)) {
        put(at + at_features, message.features);
        put(at + at_wanted, std::uint32_t{message.token_wanted});
        std::ranges::copy(message.nonce, at + at_nonce);
    } else {
        std::ranges::copy(message.proof, at + at_proof);
        put(at + at_connection, message.connection);
        put(at + at_incarnation, message.incarnation);
        put(at + at_window, message.window);
        put(at + at_turn, message.turn);
        std::ranges::copy(message.address, at + at_address);
    }
    return bytes;
}

std::optional<Head>
decode_head(std::span<const std::byte, head_size> from, const char **why) noexcept
{
    const auto kind       = get<std::uint8_t>(from.data() + 5);
    const std::size_t len = get<std::uint16_t>(from.data() + 6);

    if (get<std::uint32_t>(from.data()) != magic) {
        *why = "no message of this protocol";
    } else if (get<std::uint8_t>(from.data() + 4) != version) {
        *why = "another version of the protocol";
    } else if ((kind < static_cast<std::uint8_t>(Kind::hello)) ||
               (kind > static_cast<std::uint8_t>(Kind::goodbye))) {
        *why = "unknown kind of message";
    } else if (len > max_rest) {
        *why = "too long a message";
    } else {
        *why = nullptr;
        return Head{static_cast<Kind>(kind), len};
    }
    return std::nullopt;
}

std::optional<Message>
decode_rest(Kind kind, std::span<const std::byte> rest, const char **why) noexcept
{
    Message message{.kind = kind};
    const std::byte *at = rest.data();

    *why = nullptr;
    if (kind == Kind::goodbye) {
        if (rest.size() > max_farewell) {
            *why = "too long a text";
        }
        message.text = {reinterpret_cast<const char *>(at), rest.size()};
    } else if (is_opening(kind)) {
        if (rest.size() != opening) {
            *why = "a message of the wrong length";
        } else {
            const auto wanted    = get<std::uint32_t>(at + at_wanted);
            message.features     = get<std::uint32_t>(at + at_features);
            message.token_wanted = wanted == 1;
            std::memcpy(message.nonce.data(), at + at_nonce, sizeof(Nonce));
            *why = check_opening(message, wanted);
        }
    } else if (rest.size() < at_address) {
        *why = "a message of the wrong length";
    } else {
        std::memcpy(message.proof.data(), at + at_proof, sizeof(Proof));
        message.connection  = get<std::uint64_t>(at + at_connection);
        message.incarnation = get<std::uint64_t>(at + at_incarnation);
        message.window      = get<std::uint32_t>(at + at_window);
        message.turn        = get<std::uint32_t>(at + at_turn);
        message.address     = rest.subspan(at_address);
        *why                = check_joining(message);
    }
    return (*why == nullptr) ? std::optional(message) : std::nullopt;
}

std::span<const std::byte> proven(std::span<const std::byte> rest) noexcept
{
    return rest.subspan(std::min(sizeof(Proof), rest.size()));
}

void set_proof(std::vector<std::byte> &encoded, const Proof &proof) noexcept
{
    std::ranges::copy(proof, encoded.data() + head_size + at_proof);
}

} // namespace be::adapter::exchange
