// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes that blocks are rounded up to: those of slabs, and of runs of pages that caches
// keep.
//
// All are multiples of a cache line (64 B), so that no two blocks share one. Up to 1 KiB
// every multiple is a class; above, each doubling has eight: less than 1/8 of a block is
// lost from 512 B on, half of that on average. Every power of two is a class, so that any
// alignment up to max_class_size finds one. Above max_slab_class all are multiples of 4096.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace be::memory {

inline constexpr size_t min_class_size = 64; // bytes
inline constexpr size_t max_slab_class = 32768; // bytes: larger blocks are runs of pages
inline constexpr size_t max_class_size = size_t{1} << 20; // bytes

namespace detail {
inline constexpr size_t linear_limit = 1024; // bytes: up to here, steps of min_class_size
inline constexpr unsigned linear_classes     = linear_limit / min_class_size;
inline constexpr unsigned steps_per_doubling = 8;
} // namespace detail

inline constexpr unsigned class_count = detail::linear_classes +
                                        detail::steps_per_doubling *
                                                std::countr_zero(max_class_size /
                                                                 detail::linear_limit);

inline constexpr unsigned slab_class_count =
        detail::linear_classes +
        detail::steps_per_doubling *
                std::countr_zero(max_slab_class / detail::linear_limit);

namespace detail {
constexpr size_t computed_class_size(unsigned index)
{
    if (index < detail::linear_classes) {
        return (index + 1) * min_class_size;
    }
    const unsigned above    = index - detail::linear_classes;
    const unsigned doubling = above / detail::steps_per_doubling;
    const unsigned step     = above % detail::steps_per_doubling;
    const size_t base       = detail::linear_limit << doubling;
    return base + (step + 1) * (base / detail::steps_per_doubling);
}
} // namespace detail

namespace detail {
inline constexpr auto class_sizes = [] {
    std::array<uint32_t, class_count> sizes{};
    for (unsigned index = 0; index < class_count; ++index) {
        sizes[index] = static_cast<uint32_t>(computed_class_size(index));
    }
    return sizes;
}();
} // namespace detail

constexpr size_t class_size(unsigned index)
{
    return detail::class_sizes[index];
}

// The smallest class that holds `size` bytes, 1 <= size <= max_class_size.
constexpr unsigned class_of(size_t size)
{
    if (size <= detail::linear_limit) {
        return static_cast<unsigned>((size - 1) / min_class_size);
    }
    const unsigned doubling = std::bit_width((size - 1) / detail::linear_limit) - 1;
    const size_t base       = detail::linear_limit << doubling;
    // base / steps_per_doubling is a power of two: no division where it costs.
    const size_t step = (size - 1 - base) >>
                        (std::countr_zero(detail::linear_limit /
                                          detail::steps_per_doubling) +
                         static_cast<int>(doubling));
    return detail::linear_classes + doubling * detail::steps_per_doubling +
           static_cast<unsigned>(step);
}

// The smallest class that holds `size` bytes and whose blocks, laid side by side from an
// aligned start, are all aligned. `align`: a power of two <= max_class_size.
constexpr unsigned class_of(size_t size, size_t align)
{
    unsigned index = class_of((size > align) ? size : align);
    while (class_size(index) % align != 0) {
        ++index;
    }
    return index;
}

} // namespace be::memory
