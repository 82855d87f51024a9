// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

using namespace be::memory;

namespace {

// Pages of the range that are in memory.
size_t resident_pages(const Region &region)
{
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> state(region.length() / page);
    BOOST_REQUIRE(mincore(region.data(), region.length(), state.data()) == 0);
    size_t count = 0;
    for (unsigned char s : state) {
        count += s & 1;
    }
    return count;
}

bool is_mapped(const void *address)
{
    unsigned char state;
    return mincore(const_cast<void *>(address), 1, &state) == 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(region)

BOOST_AUTO_TEST_CASE(length_and_base_are_multiples_of_the_unit)
{
    for (size_t length : {size_t{1}, region_unit - 1, region_unit, region_unit + 1}) {
        const Region region = Region::map(length);
        BOOST_TEST(region.length() ==
                   (length + region_unit - 1) / region_unit * region_unit);
        BOOST_TEST(reinterpret_cast<uintptr_t>(region.data()) % region_unit == 0u);
        memset(region.data(), 0x5a, region.length());
    }
}

BOOST_AUTO_TEST_CASE(prefault_touches_every_page)
{
    RegionOptions options;
    options.huge_pages = false;
    const Region lazy  = Region::map(region_unit, options);
    BOOST_TEST(resident_pages(lazy) == 0u);

    options.prefault   = true;
    const Region eager = Region::map(region_unit, options);
    BOOST_TEST(resident_pages(eager) ==
               region_unit / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

BOOST_AUTO_TEST_CASE(impossible_lengths_throw_and_name_the_length)
{
    BOOST_CHECK_THROW(Region::map(0), std::system_error);
    BOOST_CHECK_THROW(Region::map(SIZE_MAX), std::system_error);
    constexpr size_t too_much = size_t{1} << 62;
    BOOST_CHECK_EXCEPTION(
            Region::map(too_much), std::system_error, [](const std::system_error &error) {
                return std::string(error.what()).find(std::to_string(too_much)) !=
                       std::string::npos;
            });
}

BOOST_AUTO_TEST_CASE(moving_leaves_one_owner)
{
    Region first     = Region::map(region_unit);
    const void *data = first.data();
    Region second    = std::move(first);
    BOOST_TEST(first.data() == nullptr);
    BOOST_TEST(second.data() == data);

    Region third      = Region::map(region_unit);
    const void *other = third.data();
    third             = std::move(second);
    BOOST_TEST(third.data() == data);
    BOOST_TEST(is_mapped(data));
    BOOST_TEST(!is_mapped(other));
    third = Region();
    BOOST_TEST(!is_mapped(data));
}

BOOST_AUTO_TEST_SUITE_END()
