// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
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

// Flags of the mapping that begins at `address`, as the kernel reports them ("VmFlags").
std::string kernel_flags(const void *address)
{
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(smaps, line)) {
        uintptr_t begin;
        uintptr_t end;
        if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            const auto value = reinterpret_cast<uintptr_t>(address);
            inside           = (value >= begin) && (value < end);
        } else if (inside && (line.rfind("VmFlags:", 0) == 0)) {
            return line;
        }
    }
    return {};
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

BOOST_AUTO_TEST_CASE(pages_are_what_the_kernel_says)
{
    const Region region     = Region::map(region_unit);
    const std::string flags = kernel_flags(region.data()) + " ";
    BOOST_TEST_REQUIRE(flags.size() > 1);
    BOOST_TEST((flags.find(" ht ") != std::string::npos) ==
               (region.pages() == Pages::huge));
    BOOST_TEST((flags.find(" hg ") != std::string::npos) ==
               (region.pages() == Pages::transparent));
    // Whoever does not get huge pages is told why.
    BOOST_TEST((region.pages() == Pages::huge) == region.note().empty());
}

BOOST_AUTO_TEST_CASE(huge_pages_can_be_declined)
{
    RegionOptions options;
    options.huge_pages  = false;
    const Region region = Region::map(region_unit, options);
    BOOST_TEST((region.pages() == Pages::ordinary));
    BOOST_TEST(region.note().empty());
    BOOST_TEST((kernel_flags(region.data()) + " ").find(" ht ") == std::string::npos);
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

BOOST_AUTO_TEST_CASE(unknown_node_is_noted_and_survived)
{
    RegionOptions options;
    options.numa_node   = 4095;
    options.huge_pages  = false;
    const Region region = Region::map(region_unit, options);
    BOOST_TEST(region.note().find("node 4095") != std::string::npos);
    memset(region.data(), 1, region.length());
}

BOOST_AUTO_TEST_CASE(first_node_is_bound_or_said_not_to_be)
{
    RegionOptions options;
    options.numa_node   = 0;
    options.huge_pages  = false;
    const Region region = Region::map(region_unit, options);
    memset(region.data(), 1, region.length());

    // "7f.. bind:0 anon=512", or "prefer:0", "prefer (many):0", by kernel version.
    std::ifstream maps("/proc/self/numa_maps");
    if (!maps) {
        BOOST_TEST_MESSAGE("no /proc/self/numa_maps: placement cannot be read back");
        return;
    }
    char wanted[32];
    snprintf(wanted, sizeof(wanted), "%lx ",
             reinterpret_cast<unsigned long>(region.data()));
    std::string line;
    while (std::getline(maps, line) && (line.rfind(wanted, 0) != 0)) {
    }
    const bool bound = (line.find("bind:0 ") != std::string::npos) ||
                       (line.find("prefer:0 ") != std::string::npos) ||
                       (line.find("prefer (many):0 ") != std::string::npos);
    BOOST_TEST(bound == region.note().empty());
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
