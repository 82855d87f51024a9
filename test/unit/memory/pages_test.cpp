// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages a region is made of: the order in which they are tried, on a system that
// gives what the test says, and what the kernel reports on this one.
#include "memory/region.hpp"
#include "memory/region_system.hpp"

#include "mapping.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace be::memory;

namespace {

constexpr size_t gib     = size_t{1} << 30;
constexpr int size_shift = 26; // of the page size's logarithm in mmap's flags

// Gives huge pages of the sizes it has; they are ordinary ones, and nothing is touched.
class MadeUp : public RegionSystem {
public:
    void *map(size_t length, int flags) override
    {
        if ((flags & MAP_HUGETLB) != 0) {
            const size_t size = size_t{1} << (flags >> size_shift);
            BOOST_TEST(length % size == 0u);
            tried.push_back(size);
            if (!sizes.contains(size)) {
                errno = ENOMEM;
                return nullptr;
            }
        } else {
            tried.push_back(0);
        }
        return RegionSystem::map(length, MAP_NORESERVE);
    }

    int populate(void *, size_t, bool huge) override
    {
        populated = true;
        return (huge && tried.back() == missing) ? ENOMEM : 0;
    }

    bool transparent_pages(void *, size_t, bool wanted) override
    {
        return wanted && transparent;
    }

    std::set<size_t> sizes; // pages that there are
    size_t missing   = SIZE_MAX; // a size whose pages are reserved, but not there
    bool transparent = true;
    bool populated   = false;
    std::vector<size_t> tried; // in that order; 0: ordinary
};

std::string numbers(const std::vector<size_t> &values)
{
    std::string text;
    for (const size_t value : values) {
        text += std::to_string(value >> 20) + " ";
    }
    return text;
}

bool has(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

// Bytes of a line of smaps.
size_t bytes(const std::string &line)
{
    return strtoull(line.c_str(), nullptr, 10) * 1024;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pages)

BOOST_AUTO_TEST_CASE(largest_come_first)
{
    MadeUp all;
    all.sizes           = {region_unit, gib};
    const Region region = Region::map(gib, {}, all);
    BOOST_TEST((region.pages() == Pages::giant));
    BOOST_TEST(region.note().empty());
    BOOST_TEST(numbers(all.tried) == "1024 ");
    BOOST_TEST(all.populated); // a missing page must not be found when it is written to
}

BOOST_AUTO_TEST_CASE(without_giant_ones_two_mebibytes_and_the_reason)
{
    MadeUp some;
    some.sizes          = {region_unit};
    const Region region = Region::map(2 * gib, {}, some);
    BOOST_TEST((region.pages() == Pages::huge));
    BOOST_TEST(region.length() == 2 * gib);
    BOOST_TEST(numbers(some.tried) == "1024 2 ");
    BOOST_TEST(has(region.note(), std::string("no 1 GiB pages: ") + strerror(ENOMEM)));
    BOOST_TEST(has(region.note(), "hugepages-1048576kB/nr_hugepages"));
}

BOOST_AUTO_TEST_CASE(without_any_transparent_ones_and_both_reasons)
{
    MadeUp none;
    const Region region = Region::map(gib, {}, none);
    BOOST_TEST((region.pages() == Pages::transparent));
    BOOST_TEST(numbers(none.tried) == "1024 2 0 ");
    BOOST_TEST(has(region.note(), "no 1 GiB pages: "));
    BOOST_TEST(has(region.note(), "no 2 MiB pages: "));
    BOOST_TEST(has(region.note(), "vm.nr_hugepages"));
    BOOST_TEST(!has(region.note(), "transparent"));
}

BOOST_AUTO_TEST_CASE(ordinary_ones_last)
{
    MadeUp none;
    none.transparent    = false;
    const Region region = Region::map(gib, {}, none);
    BOOST_TEST((region.pages() == Pages::ordinary));
    BOOST_TEST(numbers(none.tried) == "1024 2 0 ");
    BOOST_TEST(has(region.note(), "; transparent huge pages are switched off"));
}

// 1 GiB pages are for whole multiples of them: nothing is rounded up that far.
BOOST_AUTO_TEST_CASE(smaller_regions_ask_for_no_giant_ones)
{
    for (const size_t length : {region_unit, gib - region_unit, gib + region_unit}) {
        MadeUp all;
        all.sizes           = {region_unit, gib};
        const Region region = Region::map(length, {}, all);
        BOOST_TEST((region.pages() == Pages::huge));
        BOOST_TEST(region.length() == length);
        BOOST_TEST(numbers(all.tried) == "2 ");
        BOOST_TEST(region.note().empty());
    }
}

BOOST_AUTO_TEST_CASE(reserved_ones_that_are_not_there_are_given_back)
{
    for (const size_t missing : {gib, region_unit}) {
        MadeUp all;
        all.sizes           = {region_unit, gib};
        all.missing         = missing;
        const size_t length = (missing == gib) ? gib : region_unit;
        const Region region = Region::map(length, {}, all);
        BOOST_TEST((region.pages() ==
                    ((missing == gib) ? Pages::huge : Pages::transparent)));
        BOOST_TEST(has(region.note(), "on this node or in this memory group"));
    }
}

BOOST_AUTO_TEST_CASE(declined_ones_are_not_tried)
{
    MadeUp all;
    all.sizes = {region_unit, gib};
    RegionOptions options;
    options.huge_pages  = false;
    const Region region = Region::map(gib, options, all);
    BOOST_TEST((region.pages() == Pages::ordinary));
    BOOST_TEST(numbers(all.tried) == "0 ");
    BOOST_TEST(region.note().empty());
}

// The names are what the notes and the log call them.
BOOST_AUTO_TEST_CASE(names)
{
    BOOST_TEST(to_string(Pages::giant) == std::string("1 GiB pages"));
    BOOST_TEST(to_string(Pages::huge) == std::string("2 MiB pages"));
    BOOST_TEST(to_string(Pages::transparent) == std::string("transparent huge pages"));
    BOOST_TEST(to_string(Pages::ordinary) == std::string("ordinary pages"));
}

BOOST_AUTO_TEST_CASE(they_are_what_the_kernel_says)
{
    const Region region = Region::map(8 * region_unit);
    memset(region.data(), 1, region.length());
    auto report              = kernel_report(region.data());
    const std::string &flags = report["VmFlags"];
    BOOST_TEST_REQUIRE(!flags.empty());
    BOOST_TEST(has(" " + flags, " ht ") == (region.pages() == Pages::huge));
    BOOST_TEST(has(" " + flags, " hg ") == (region.pages() == Pages::transparent));
    BOOST_TEST((bytes(report["KernelPageSize"]) == region_unit) ==
               (region.pages() == Pages::huge));
    // Free memory may lie in pieces, so not all has to be in huge pages.
    if (region.pages() != Pages::transparent) {
        BOOST_TEST(bytes(report["AnonHugePages"]) == 0u);
    } else {
        BOOST_TEST(bytes(report["AnonHugePages"]) > 0u);
    }
    // Whoever does not get huge pages is told why.
    BOOST_TEST((region.pages() == Pages::huge) == region.note().empty());
}

BOOST_AUTO_TEST_CASE(declined_ones_are_not_there)
{
    RegionOptions options;
    options.huge_pages  = false;
    const Region region = Region::map(8 * region_unit, options);
    memset(region.data(), 1, region.length());
    BOOST_TEST((region.pages() == Pages::ordinary));
    BOOST_TEST(region.note().empty());
    auto report = kernel_report(region.data());
    BOOST_TEST(!has(" " + report["VmFlags"], " ht "));
    BOOST_TEST(bytes(report["AnonHugePages"]) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
