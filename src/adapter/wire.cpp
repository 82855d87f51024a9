// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/wire.hpp"

#include "adapter/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace be::adapter::wire {

namespace {

const char *check(const std::byte *from, std::size_t size) noexcept
{
    if (size < fixed_size) {
        return "shorter than a header";
    }
    if (get<std::uint16_t>(from) != magic) {
        return "no message of this protocol";
    }
    if (get<std::uint8_t>(from + 2) != version) {
        return "another version of the protocol";
    }
    const auto kind = get<std::uint8_t>(from + 3);
    if ((kind < static_cast<std::uint8_t>(Kind::request)) ||
        (kind > static_cast<std::uint8_t>(Kind::credit))) {
        return "unknown kind of message";
    }
    if (get<std::uint8_t>(from + 4) > static_cast<std::uint8_t>(last_status)) {
        return "unknown status";
    }
    if ((get<std::uint8_t>(from + 5) & ~(flag_bulk | flag_stream | flag_last)) != 0) {
        return "unknown flags";
    }
    if ((get<std::uint16_t>(from + 6) != 0) || (get<std::uint16_t>(from + 38) != 0)) {
        return "reserved bytes are not 0";
    }
    const std::size_t text = get<std::uint16_t>(from + 36);
    if ((text > max_text) || (fixed_size + text != size)) {
        return "length of the text does not match the message";
    }
    return nullptr;
}

} // namespace

std::size_t encode(const Header &header, std::span<std::byte> to) noexcept
{
    const std::size_t size = size_of(header);
    const std::size_t text = size - fixed_size;
    std::byte *at          = to.data();

    put(at, magic);
    put(at + 2, version);
    put(at + 3, static_cast<std::uint8_t>(header.kind));
    put(at + 4, static_cast<std::uint8_t>(header.status));
    put(at + 5, header.flags);
    put(at + 6, std::uint16_t{0});
    put(at + 8, header.connection);
    put(at + 16, header.id);
    put(at + 24, header.value);
    put(at + 32, header.code);
    put(at + 36, static_cast<std::uint16_t>(text));
    put(at + 38, std::uint16_t{0});
    if (text != 0) {
        std::memcpy(at + fixed_size, header.text.data(), text);
    }
    return size;
}

std::optional<Header> decode(std::span<const std::byte> from, const char **why) noexcept
{
    const std::byte *at = from.data();

    *why = check(at, from.size());
    if (*why != nullptr) {
        return std::nullopt;
    }
    return Header{.kind       = static_cast<Kind>(get<std::uint8_t>(at + 3)),
                  .status     = static_cast<Status>(get<std::uint8_t>(at + 4)),
                  .flags      = get<std::uint8_t>(at + 5),
                  .connection = get<std::uint64_t>(at + 8),
                  .id         = get<std::uint64_t>(at + 16),
                  .value      = get<std::uint64_t>(at + 24),
                  .code       = get<std::uint32_t>(at + 32),
                  .text       = {reinterpret_cast<const char *>(at) + fixed_size,
                                 from.size() - fixed_size}};
}

} // namespace be::adapter::wire
