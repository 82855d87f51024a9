// SPDX-License-Identifier: BSD-3-Clause
//
// The pool of bodies: its regions are known to all contexts there are, whichever came
// first; its blocks are whole.
#include "adapter/block_pool.hpp"
#include "adapter/context.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace be::adapter;

namespace {

constexpr size_t mebi = size_t{1} << 20;

using Block = std::shared_ptr<std::byte[]>;

// Takes blocks until there is a further region.
void force_region(std::vector<Block> &blocks)
{
    const size_t before = pool_stats().regions;
    while (pool_stats().regions == before) {
        BOOST_REQUIRE_LT(blocks.size(), 1000u);
        blocks.push_back(pooled(mebi));
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(block_pool)

BOOST_AUTO_TEST_CASE(every_context_maps_every_region)
{
    setenv("UCX_TLS", "self", 1); // a context without any device
    std::vector<Block> blocks;
    force_region(blocks); // before any context
    BOOST_TEST(pool_stats().mappings == 0u);

    auto first = std::make_unique<Context>();
    BOOST_TEST(pool_stats().mappings == pool_stats().regions);
    auto second = std::make_unique<Context>();
    BOOST_TEST(pool_stats().mappings == 2 * pool_stats().regions);
    force_region(blocks);
    BOOST_TEST(pool_stats().mappings == 2 * pool_stats().regions);
    first.reset();
    BOOST_TEST(pool_stats().mappings == pool_stats().regions);
    second.reset();
    BOOST_TEST(pool_stats().mappings == 0u);
    std::memset(blocks.front().get(), 1, mebi); // still there
}

// What lies idle is bounded, and what is taken from the system in one piece goes back to it.
BOOST_AUTO_TEST_CASE(memory_is_given_back)
{
    const size_t before = pool_stats().live;
    {
        std::vector<Block> blocks;
        for (unsigned i = 0; i < 24; ++i) {
            blocks.push_back(pooled(32 * mebi));
        }
        BOOST_TEST(pool_stats().live == before + 24 * 32 * mebi);
        BOOST_TEST(pool_stats().bytes >= 24 * 32 * mebi);
    }
    BOOST_TEST(pool_stats().live == before);
    BOOST_TEST(pool_stats().bytes <= 256 * mebi);

    const Block larger = pooled(64 * mebi + 1), smaller = pooled(100);
    BOOST_TEST(pool_stats().live == before);
    larger[64 * mebi] = smaller[99] = std::byte{1};
}

BOOST_AUTO_TEST_CASE(threads_do_not_get_each_others_blocks)
{
    std::vector<std::thread> threads;
    std::vector<unsigned> wrong(4);
    for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&wrong = wrong[number], number] {
            struct Held {
                Block block;
                size_t size;
            };
            std::mt19937 random(number);
            std::vector<Held> held(16);
            const auto mark = std::byte(number + 1);
            for (unsigned round = 0; round < 3000; ++round) {
                Held &one = held[random() % held.size()];
                if (one.block) {
                    wrong += (one.block[0] != mark) + (one.block[one.size - 1] != mark);
                }
                one.size                = 4096 + random() % 200000;
                one.block               = pooled(one.size);
                one.block[0]            = mark;
                one.block[one.size - 1] = mark;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    BOOST_TEST(wrong == std::vector<unsigned>(4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
