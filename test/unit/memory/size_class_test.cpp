// SPDX-License-Identifier: BSD-3-Clause
#include "memory/size_class.hpp"

#include <boost/test/unit_test.hpp>

using namespace be::memory;

BOOST_AUTO_TEST_SUITE(size_class)

BOOST_AUTO_TEST_CASE(ends_are_as_declared)
{
    BOOST_TEST(class_size(0) == min_class_size);
    BOOST_TEST(class_size(class_count - 1) == max_class_size);
    BOOST_TEST(class_of(1) == 0u);
    BOOST_TEST(class_of(max_class_size) == class_count - 1);
}

BOOST_AUTO_TEST_CASE(every_size_gets_the_smallest_class_that_holds_it)
{
    for (size_t size = 1; size <= max_class_size; ++size) {
        const unsigned index = class_of(size);
        BOOST_TEST_REQUIRE(index < class_count);
        BOOST_TEST_REQUIRE(class_size(index) >= size);
        BOOST_TEST_REQUIRE(((index == 0) || (class_size(index - 1) < size)));
    }
}

BOOST_AUTO_TEST_CASE(waste_is_bounded)
{
    // An eighth from 512 bytes on; half of that on average.
    double total = 0;
    for (size_t size = 512; size <= max_class_size; ++size) {
        const double waste = static_cast<double>(class_size(class_of(size)) - size) /
                             static_cast<double>(class_size(class_of(size)));
        BOOST_TEST_REQUIRE(waste < 0.125);
        total += waste;
    }
    BOOST_TEST(total / (max_class_size - 511) < 0.0625);
}

BOOST_AUTO_TEST_CASE(aligned_class_is_a_multiple_of_the_alignment)
{
    for (size_t align = 1; align <= max_class_size; align *= 2) {
        for (size_t size = 1; size <= max_class_size; size += 61) {
            const unsigned index = class_of(size, align);
            BOOST_TEST_REQUIRE(index < class_count);
            BOOST_TEST_REQUIRE(class_size(index) >= size);
            BOOST_TEST_REQUIRE(class_size(index) % align == 0u);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
