// SPDX-License-Identifier: BSD-3-Clause
//
// Wrap-safe serial arithmetic (RFC 1982 style) on totals and sequence numbers.
//
// Every count that crosses the wire is a total since the connection started, kept modulo
// 2^Width. Two totals can be ordered as long as they are less than half the ring apart;
// all users keep them within 2^30 of each other (a receive queue has far fewer buffers).
// Pure functions, no state.

#pragma once

#include <cstdint>

namespace be::core {

/* Arithmetic on a ring of 2^Width values held in the low bits of a uint32_t. The
 * transport uses 32 bits for totals and 28 bits for what fits beside the kind in an
 * immediate; tests use small widths to walk the whole ring. */
template<unsigned Width>
struct Serial {
    static_assert(Width >= 2 && Width <= 32, "a serial ring has 2 to 32 bits");

    static constexpr uint32_t mask = (Width == 32) ? ~uint32_t{0} :
                                                     ((uint32_t{1} << (Width % 32)) - 1);
    static constexpr uint32_t half = uint32_t{1} << (Width - 1);

    static constexpr uint32_t add(uint32_t value, uint32_t increment)
    {
        return (value + increment) & mask;
    }

    /* Signed distance from b to a in [-half, half): positive when a is ahead of b.
     * Exactly half the ring apart counts as behind, from both sides. */
    static constexpr int32_t diff(uint32_t a, uint32_t b)
    {
        uint32_t distance = (a - b) & mask;

        if (Width == 32) {
            return static_cast<int32_t>(distance);
        }
        return (distance < half) ?
                       static_cast<int32_t>(distance) :
                       static_cast<int32_t>(distance) - static_cast<int32_t>(mask) - 1;
    }

    static constexpr bool less(uint32_t a, uint32_t b)
    {
        return diff(a, b) < 0;
    }

    /* The full 32-bit value whose low Width bits are `low` and that is nearest to
     * `reference`. */
    static constexpr uint32_t widen(uint32_t reference, uint32_t low)
    {
        return reference + static_cast<uint32_t>(diff(low & mask, reference & mask));
    }
};

constexpr int32_t serial_diff(uint32_t a, uint32_t b)
{
    return Serial<32>::diff(a, b);
}

constexpr bool serial_less(uint32_t a, uint32_t b)
{
    return Serial<32>::less(a, b);
}

/* The later of two totals. */
constexpr uint32_t serial_max(uint32_t a, uint32_t b)
{
    return serial_less(a, b) ? b : a;
}

/* The earlier one. */
constexpr uint32_t serial_min(uint32_t a, uint32_t b)
{
    return serial_less(b, a) ? b : a;
}

} // namespace be::core
