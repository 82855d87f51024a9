// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include "core/serial.hpp"

using namespace be::core;

BOOST_AUTO_TEST_SUITE(serial)

/* Every pair of a small ring, against the definition. */
BOOST_AUTO_TEST_CASE(whole_four_bit_ring)
{
    using Ring = Serial<4>;

    for (uint32_t base = 0; base < 16; ++base) {
        for (int32_t step = -8; step < 8; ++step) {
            uint32_t moved = Ring::add(base, static_cast<uint32_t>(step));

            BOOST_TEST(moved < 16u);
            BOOST_TEST(Ring::diff(moved, base) == step);
            BOOST_TEST(Ring::less(moved, base) == (step < 0));
        }
    }
}

BOOST_AUTO_TEST_CASE(two_bit_ring)
{
    BOOST_TEST(Serial<2>::diff(0, 3) == 1);
    BOOST_TEST(Serial<2>::diff(3, 0) == -1);
    BOOST_TEST(Serial<2>::diff(2, 0) == -2); /* half the ring: behind, from both sides */
    BOOST_TEST(Serial<2>::diff(0, 2) == -2);
}

BOOST_AUTO_TEST_CASE(bits_above_the_ring_do_not_matter)
{
    BOOST_TEST(Serial<4>::diff(0xf1, 0x0f) == 2);
    BOOST_TEST(Serial<4>::add(0xff, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(full_width)
{
    BOOST_TEST(serial_diff(2, 0xfffffffe) == 4);
    BOOST_TEST(serial_diff(0xfffffffe, 2) == -4);
    BOOST_TEST(serial_less(0xffffffff, 0));
    BOOST_TEST(!serial_less(0, 0xffffffff));
    BOOST_TEST(!serial_less(7, 7));
    BOOST_TEST(serial_diff(0x7fffffff, 0) == INT32_MAX);
    BOOST_TEST(serial_diff(0x80000000, 0) == INT32_MIN);
    BOOST_TEST(serial_max(0xffffffff, 3) == 3u);
    BOOST_TEST(serial_max(3, 0xffffffff) == 3u);
    BOOST_TEST(serial_max(5, 5) == 5u);
}

/* The nearest value with the given low bits, ahead or behind, across both wraps. */
BOOST_AUTO_TEST_CASE(widen_finds_the_nearest)
{
    for (uint32_t reference : {0u, 5u, 15u, 16u, 1000u, 0xfffffff0u, 0xffffffffu}) {
        for (int32_t step = -8; step < 8; ++step) {
            uint32_t value = reference + static_cast<uint32_t>(step);

            BOOST_TEST(Serial<4>::widen(reference, value & 15) == value);
            BOOST_TEST(Serial<4>::widen(reference, value) == value);
        }
    }
    BOOST_TEST(Serial<28>::widen(0xfffffff0u, 0x0000004u) == 4u);
    BOOST_TEST(Serial<28>::widen(0x10000002u, 0xffffffeu) == 0x0ffffffeu);
    BOOST_TEST(Serial<32>::widen(1u, 0xffffffffu) == 0xffffffffu);
}

BOOST_AUTO_TEST_SUITE_END()
