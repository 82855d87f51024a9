// SPDX-License-Identifier: BSD-3-Clause
#include "memory/page_map.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>
#include <vector>

using namespace be::memory;

BOOST_AUTO_TEST_SUITE(page_map)

BOOST_AUTO_TEST_CASE(all_pages_can_be_had_and_no_more)
{
    PageMap map(16);
    BOOST_TEST(map.all_free());
    BOOST_TEST(*map.allocate(16, 1) == 0u);
    BOOST_TEST(map.free_pages() == 0u);
    BOOST_TEST(!map.allocate(1, 1));
    map.free(0, 16);
    BOOST_TEST(map.all_free());
    BOOST_TEST(!map.allocate(17, 1));
}

BOOST_AUTO_TEST_CASE(neighbours_join_in_every_order)
{
    // Three runs of a full map: freed in all six orders they must become one.
    const std::vector<std::vector<uint32_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto &order : orders) {
        PageMap map(12);
        const uint32_t runs[] = {*map.allocate(4, 1), *map.allocate(4, 1),
                                 *map.allocate(4, 1)};
        for (uint32_t i : order) {
            map.free(runs[i], 4);
        }
        BOOST_TEST(map.all_free());
        BOOST_TEST(map.allocate(12, 1).has_value());
    }
}

BOOST_AUTO_TEST_CASE(smallest_run_that_fits_is_taken)
{
    PageMap map(32);
    const uint32_t small   = *map.allocate(2, 1);
    const uint32_t between = *map.allocate(1, 1);
    BOOST_TEST(map.allocate(29, 1).has_value());
    map.free(small, 2);
    map.free(between + 1, 29);
    BOOST_TEST(*map.allocate(2, 1) == small);
}

BOOST_AUTO_TEST_CASE(alignment_skips_runs_it_does_not_fit_in)
{
    PageMap map(64);
    BOOST_TEST(*map.allocate(1, 1) == 0u);
    BOOST_TEST(*map.allocate(8, 8) == 8u);
    BOOST_TEST(*map.allocate(16, 16) == 16u);
    BOOST_TEST(*map.allocate(32, 32) == 32u);
    BOOST_TEST(!map.allocate(8, 8)); // pages 1 to 7 are left
    BOOST_TEST(map.free_pages() == 7u);
    BOOST_TEST(*map.allocate(4, 4) == 4u);
    BOOST_TEST(*map.allocate(3, 1) == 1u);
}

BOOST_AUTO_TEST_CASE(random_runs_against_a_bitmap)
{
    constexpr uint32_t pages = 512;
    std::mt19937 random(1);
    PageMap map(pages);
    std::vector<bool> taken(pages, false);
    std::map<uint32_t, uint32_t> runs;

    for (int step = 0; step < 20000; ++step) {
        if ((random() % 2 == 0) || runs.empty()) {
            const uint32_t length = 1 + random() % 40;
            const uint32_t align  = 1u << (random() % 5);
            const auto first      = map.allocate(length, align);
            if (!first) {
                // Then the bitmap has no such place either.
                for (uint32_t place = 0; place + length <= pages; place += align) {
                    bool free = true;
                    for (uint32_t i = place; i < place + length; ++i) {
                        free = free && !taken[i];
                    }
                    BOOST_TEST_REQUIRE(!free);
                }
                continue;
            }
            BOOST_TEST_REQUIRE(*first % align == 0u);
            BOOST_TEST_REQUIRE(*first + length <= pages);
            for (uint32_t i = *first; i < *first + length; ++i) {
                BOOST_TEST_REQUIRE(!taken[i]);
                taken[i] = true;
            }
            runs[*first] = length;
        } else {
            auto run = runs.begin();
            std::advance(run, random() % runs.size());
            map.free(run->first, run->second);
            for (uint32_t i = run->first; i < run->first + run->second; ++i) {
                taken[i] = false;
            }
            runs.erase(run);
        }
        BOOST_TEST_REQUIRE(
                map.free_pages() ==
                static_cast<uint32_t>(std::count(taken.begin(), taken.end(), false)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
