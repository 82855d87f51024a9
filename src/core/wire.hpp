// SPDX-License-Identifier: BSD-3-Clause
//
// What travels on the data path: the 16-byte header in front of each active message, the
// 8-byte credit cell and the 32-bit immediate of the bulk queue pair. docs/protocol.md
// has the layouts as tables.
//
// Everything is little-endian. Encoders write exactly the stated size. Decoders never
// read past the span they are given and accept only what this version defines. All
// functions are pure and inline: they run once for each message.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace be::core {

inline constexpr uint8_t wire_version         = 2;
inline constexpr std::size_t data_header_size = 16;
inline constexpr unsigned notice_value_bits   = 28;
inline constexpr uint32_t cell_byte_mask      = (1u << 30) - 1; /* of a byte total */

enum class HeaderKind : uint8_t {
    am     = 1, /* an active message, its payload follows the header */
    credit = 2 /* no payload: gives back a credit by using it up */
};

/* In front of each SEND on the message queue pair. */
struct DataHeader {
    uint8_t version    = wire_version;
    HeaderKind kind    = HeaderKind::am;
    uint8_t am_id      = 0;
    uint8_t flags      = 0; /* owned by the engine, carried unchanged */
    uint16_t dst_iface = 0; /* interface within the destination fabric */
    uint16_t reserved  = 0; /* must be 0 */
    uint32_t seq       = 0; /* sequence number of this message toward this peer */
    uint32_t granted   = 0; /* cumulative messages the receiver of this header may send */

    bool operator==(const DataHeader &) const = default;
};

enum class DecodeError : uint8_t {
    none = 0,
    truncated, /* fewer than data_header_size bytes */
    version, /* not wire_version */
    kind, /* not a HeaderKind */
    reserved /* reserved bits set */
};

/* A sentence fragment for error messages, e.g. "truncated header". Never null. */
const char *describe(DecodeError error);

/* One aligned 8-byte word in the sender's memory, written by the receiver with RDMA. */
struct CreditCell {
    uint32_t messages = 0; /* cumulative messages granted */
    uint32_t byte_units =
            0; /* cumulative bytes granted in units, low 30 bits; 0 when bytes are not granted */
    uint8_t floor = 0; /* standing minimum of this peer in messages, 2 bits */

    bool operator==(const CreditCell &) const = default;
};

/* The immediate of a WRITE_WITH_IMM on the bulk queue pair, in host order. */
struct Notice {
    enum Kind : uint8_t {
        request      = 1, /* value: low 28 bits of the sender's demand total */
        grant        = 2, /* value: low 28 bits of the messages total */
        bulk         = 3, /* with data; value: the byte demand total */
        byte_request = 4, /* value: the byte demand total */
        revoke       = 5, /* messages; value: how many may be kept */
        give_back    = 6, /* messages; value: total given back */
        byte_revoke  = 7, /* value: units that may be kept */
        byte_return  = 8, /* value: total of units given back */
        wake  = 9, /* value: byte total that the sender of this, who sleeps, knows */
        woken = 10 /* the answer, as soon as there is more; value: byte total */
    };

    Kind kind      = request;
    uint32_t value = 0; /* notice_value_bits wide */

    bool operator==(const Notice &) const = default;
};

namespace detail {

inline uint64_t little_endian(uint64_t value)
{
    return (std::endian::native == std::endian::little) ? value :
                                                          __builtin_bswap64(value);
}

} // namespace detail

/* Two 8-byte stores, no branch. */
inline void encode(const DataHeader &header, std::span<std::byte, data_header_size> out)
{
    uint64_t low = detail::little_endian(
            uint64_t{header.version} |
            (uint64_t{static_cast<uint8_t>(header.kind)} << 8) |
            (uint64_t{header.am_id} << 16) | (uint64_t{header.flags} << 24) |
            (uint64_t{header.dst_iface} << 32) | (uint64_t{header.reserved} << 48));
    uint64_t high = detail::little_endian(uint64_t{header.seq} |
                                          (uint64_t{header.granted} << 32));

    std::memcpy(out.data(), &low, sizeof(low));
    std::memcpy(out.data() + sizeof(low), &high, sizeof(high));
}

/* Fills `header` and returns DecodeError::none, or names the first thing that is wrong
 * and leaves `header` untouched. Payload behind the header is not looked at. */
inline DecodeError decode(std::span<const std::byte> in, DataHeader &header)
{
    uint64_t low, high;

    if (in.size() < data_header_size) {
        return DecodeError::truncated;
    }

    std::memcpy(&low, in.data(), sizeof(low));
    std::memcpy(&high, in.data() + sizeof(low), sizeof(high));
    low  = detail::little_endian(low);
    high = detail::little_endian(high);

    if (static_cast<uint8_t>(low) != wire_version) {
        return DecodeError::version;
    }

    uint8_t kind = static_cast<uint8_t>(low >> 8);
    if ((kind != static_cast<uint8_t>(HeaderKind::am)) &&
        (kind != static_cast<uint8_t>(HeaderKind::credit))) {
        return DecodeError::kind;
    }

    if ((low >> 48) != 0) {
        return DecodeError::reserved;
    }

    header.version   = wire_version;
    header.kind      = static_cast<HeaderKind>(kind);
    header.am_id     = static_cast<uint8_t>(low >> 16);
    header.flags     = static_cast<uint8_t>(low >> 24);
    header.dst_iface = static_cast<uint16_t>(low >> 32);
    header.reserved  = 0;
    header.seq       = static_cast<uint32_t>(high);
    header.granted   = static_cast<uint32_t>(high >> 32);
    return DecodeError::none;
}

/* The word as the processor holds it: store_cell() gives it its byte order. Bits beyond
 * the stated widths of byte_units and floor are cut off. */
constexpr uint64_t pack(const CreditCell &cell)
{
    return uint64_t{cell.messages} | (uint64_t{cell.byte_units & cell_byte_mask} << 32) |
           (uint64_t{cell.floor & 3u} << 62);
}

constexpr CreditCell unpack_cell(uint64_t word)
{
    return {.messages   = static_cast<uint32_t>(word),
            .byte_units = static_cast<uint32_t>(word >> 32) & cell_byte_mask,
            .floor      = static_cast<uint8_t>(word >> 62)};
}

/* To and from the little-endian word in registered memory, which the network reads or
 * writes. The word must be 8-byte aligned; each access is one atomic load or store. */
inline void store_cell(uint64_t *word, const CreditCell &cell)
{
    __atomic_store_n(word, detail::little_endian(pack(cell)), __ATOMIC_RELEASE);
}

inline CreditCell load_cell(const uint64_t *word)
{
    return unpack_cell(detail::little_endian(__atomic_load_n(word, __ATOMIC_ACQUIRE)));
}

constexpr uint32_t encode(const Notice &notice)
{
    return (uint32_t{notice.kind} << notice_value_bits) |
           (notice.value & ((uint32_t{1} << notice_value_bits) - 1));
}

/* Empty for a kind that this version does not define. */
constexpr std::optional<Notice> decode_notice(uint32_t immediate)
{
    uint32_t kind = immediate >> notice_value_bits;

    if ((kind < Notice::request) || (kind > Notice::woken)) {
        return std::nullopt;
    }
    return Notice{.kind  = static_cast<Notice::Kind>(kind),
                  .value = immediate & ((uint32_t{1} << notice_value_bits) - 1)};
}

} // namespace be::core
