// SPDX-License-Identifier: BSD-3-Clause
#include "fake_registrar.hpp"

#include "memory/page_map.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(arena)

BOOST_AUTO_TEST_CASE(block_carries_the_keys_of_its_region)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 16 * mebi), registrar.callbacks());
    const Block block = arena.allocate(1000);
    BOOST_TEST_REQUIRE(static_cast<bool>(block));
    BOOST_TEST(block.length >= 1000u);
    BOOST_TEST(block.lkey == 1u);
    BOOST_TEST(block.rkey == 0x10001u);

    const auto range = registrar.ranges.at(block.lkey);
    const auto begin = reinterpret_cast<uintptr_t>(block.address);
    BOOST_TEST(begin >= range.begin);
    BOOST_TEST(begin + block.length <= range.begin + range.length);
    memset(block.address, 0xff, block.length);
    BOOST_TEST(arena.free(block));
}

BOOST_AUTO_TEST_CASE(many_blocks_need_one_registration)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(4 * mebi, 64 * mebi), registrar.callbacks());
    std::vector<Block> blocks;
    for (int round = 0; round < 100; ++round) {
        for (size_t size : {64, 200, 4096, 8300, 40000, 300000}) {
            blocks.push_back(arena.allocate(size));
            BOOST_TEST_REQUIRE(static_cast<bool>(blocks.back()));
        }
        for (const Block &block : blocks) {
            BOOST_TEST_REQUIRE(arena.free(block));
        }
        blocks.clear();
    }
    BOOST_TEST(registrar.added == 1u);
    BOOST_TEST(arena.stats().registrations == 1u);
    BOOST_TEST(arena.stats().used == 0u);
    BOOST_TEST(arena.stats().requested == 0u);
}

BOOST_AUTO_TEST_CASE(alignment_is_kept_and_checked)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(4 * mebi, 256 * mebi), registrar.callbacks());
    for (size_t align = 1; align <= region_unit; align *= 2) {
        for (size_t size : {1, 63, 65, 577, 5000, 33000, 100000}) {
            const Block block = arena.allocate(size, align);
            BOOST_TEST_REQUIRE(static_cast<bool>(block));
            BOOST_TEST(reinterpret_cast<uintptr_t>(block.address) % align == 0u);
            BOOST_TEST(reinterpret_cast<uintptr_t>(block.address) %
                               std::min(align, Arena::default_alignment) ==
                       0u);
        }
    }

    for (size_t align : {size_t{0}, size_t{3}, size_t{96}, region_unit * 2}) {
        std::string why;
        BOOST_TEST(!arena.allocate(64, align, &why));
        BOOST_TEST(contains(why, std::to_string(align)));
    }
}

BOOST_AUTO_TEST_CASE(cap_is_never_exceeded_and_says_so)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 5 * mebi),
                registrar.callbacks()); // two regions fit
    std::vector<Block> blocks;
    std::string why;
    for (;;) {
        const Block block = arena.allocate(256 * 1024, 64, &why);
        if (!block) {
            break;
        }
        blocks.push_back(block);
    }
    BOOST_TEST(blocks.size() == 16u);
    BOOST_TEST(arena.stats().mapped == 4 * mebi);
    BOOST_TEST(contains(why, std::to_string(256 * 1024)));
    BOOST_TEST(contains(why, std::to_string(5 * mebi)));
    BOOST_TEST(arena.stats().failures == 1u);

    BOOST_TEST(arena.free(blocks.back()));
    BOOST_TEST(static_cast<bool>(arena.allocate(256 * 1024)));
    BOOST_TEST(!arena.allocate(SIZE_MAX, 64, &why));
    BOOST_TEST(!arena.allocate(SIZE_MAX - 4096, 64, &why));
}

BOOST_AUTO_TEST_CASE(empty_slabs_give_their_pages_to_who_needs_them)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 2 * mebi), registrar.callbacks());
    for (size_t size = 64; size <= 8192; size *= 2) {
        BOOST_TEST_REQUIRE(arena.free(arena.allocate(size)));
    }
    BOOST_TEST(arena.stats().slab_bytes > 0u);
    const Block all = arena.allocate(2 * mebi);
    BOOST_TEST(static_cast<bool>(all));
    BOOST_TEST(arena.stats().slab_bytes == 0u);
    BOOST_TEST(arena.stats().failures == 0u);
}

BOOST_AUTO_TEST_CASE(large_block_has_its_own_region_and_takes_it_along)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 64 * mebi), registrar.callbacks());
    const Block small = arena.allocate(64);
    const Block large = arena.allocate(9 * mebi);
    BOOST_TEST_REQUIRE(static_cast<bool>(large));
    BOOST_TEST(large.lkey != small.lkey);
    BOOST_TEST(arena.stats().mapped == 12 * mebi);
    // What is left over in it is not given to others, which would keep it.
    const Block other = arena.allocate(mebi / 2);
    BOOST_TEST(other.lkey != large.lkey);

    BOOST_TEST(arena.free(large));
    BOOST_TEST(arena.stats().mapped == 2 * mebi);
    BOOST_TEST(registrar.ranges.size() == 1u);
    BOOST_TEST(arena.stats().mapped_peak == 12 * mebi);
}

BOOST_AUTO_TEST_CASE(refused_registration_is_reported_and_leaks_nothing)
{
    FakeRegistrar registrar;
    registrar.largest = 0;
    Arena arena(small_arena(4 * mebi, 64 * mebi), registrar.callbacks());
    std::string why;
    BOOST_TEST(!arena.allocate(100, 64, &why));
    BOOST_TEST(contains(why, "refused"));
    BOOST_TEST(arena.stats().mapped == 0u);
    BOOST_TEST(arena.stats().failures == 1u);

    registrar.largest = SIZE_MAX;
    BOOST_TEST(static_cast<bool>(arena.allocate(100)));
}

BOOST_AUTO_TEST_CASE(near_a_system_limit_less_than_the_step_is_mapped)
{
    FakeRegistrar registrar;
    registrar.bytes_left = 6 * mebi;
    Arena arena(small_arena(4 * mebi, 64 * mebi), registrar.callbacks());
    BOOST_TEST(static_cast<bool>(arena.allocate(3 * mebi)));
    BOOST_TEST(static_cast<bool>(arena.allocate(2 * mebi)));
    BOOST_TEST(registrar.bytes_left == 0u);
    BOOST_TEST(arena.stats().mapped == 6 * mebi);
}

BOOST_AUTO_TEST_CASE(wrong_frees_are_refused_and_counted)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 64 * mebi), registrar.callbacks());
    const Block small = arena.allocate(100);
    const Block run   = arena.allocate(100000);
    const Block large = arena.allocate(4 * mebi);
    int foreign       = 0;

    Block wrong   = small;
    wrong.address = static_cast<char *>(small.address) + 1;
    BOOST_TEST(!arena.free(wrong));
    wrong.address = static_cast<char *>(small.address) + small.length; // free neighbour
    BOOST_TEST(!arena.free(wrong));
    wrong.address = static_cast<char *>(run.address) + page_size;
    BOOST_TEST(!arena.free(wrong));
    wrong.address = &foreign;
    BOOST_TEST(!arena.free(wrong));
    BOOST_TEST(!arena.free(Block{}));
    BOOST_TEST(arena.stats().bad_frees == 5u);
    BOOST_TEST(arena.stats().frees == 0u);

    for (const Block &block : {small, run, large}) {
        BOOST_TEST(arena.free(block));
        BOOST_TEST(!arena.free(block)); // twice
    }
    BOOST_TEST(arena.stats().bad_frees == 8u);
    BOOST_TEST(arena.stats().used == 0u);
}

BOOST_AUTO_TEST_CASE(registration_is_found_by_any_address)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 64 * mebi), registrar.callbacks());
    const Block first  = arena.allocate(mebi);
    const Block second = arena.allocate(2 * mebi);
    Registration found;
    BOOST_TEST(arena.find(static_cast<char *>(first.address) + mebi - 1, &found));
    BOOST_TEST(found.lkey == first.lkey);
    BOOST_TEST(arena.find(static_cast<char *>(second.address) + 12345, &found));
    BOOST_TEST(found.lkey == second.lkey);
    BOOST_TEST(!arena.find(&found, &found));
    BOOST_TEST(!arena.find(nullptr, &found));
}

BOOST_AUTO_TEST_CASE(everything_is_deregistered_at_the_end)
{
    FakeRegistrar registrar;
    {
        Arena arena(small_arena(2 * mebi, 64 * mebi), registrar.callbacks());
        BOOST_TEST(static_cast<bool>(arena.allocate(100)));
        BOOST_TEST(static_cast<bool>(arena.allocate(7 * mebi)));
        BOOST_TEST(registrar.ranges.size() == 2u);
    }
    BOOST_TEST(registrar.ranges.empty());
    BOOST_TEST(registrar.wrong == 0u);
}

BOOST_AUTO_TEST_CASE(bad_step_is_refused)
{
    FakeRegistrar registrar;
    BOOST_CHECK_THROW(Arena(small_arena(0, mebi), registrar.callbacks()),
                      std::invalid_argument);
    BOOST_CHECK_THROW(Arena(small_arena(SIZE_MAX, mebi), registrar.callbacks()),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(zero_bytes_are_a_block_of_their_own)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(2 * mebi, 4 * mebi), registrar.callbacks());
    const Block first  = arena.allocate(0);
    const Block second = arena.allocate(0);
    BOOST_TEST_REQUIRE((first && second));
    BOOST_TEST(first.address != second.address);
    BOOST_TEST(arena.free(first));
    BOOST_TEST(arena.free(second));
}

BOOST_AUTO_TEST_SUITE_END()
