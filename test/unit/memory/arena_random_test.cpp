// SPDX-License-Identifier: BSD-3-Clause
//
// Random allocation and freeing against a shadow model that knows which bytes are whose.
#include "fake_registrar.hpp"
#include "sizes.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

// Log-uniform from 1 byte to 1 MiB: small ones are the many.
size_t random_size(std::mt19937_64 &random)
{
    return log_uniform(random, 0, 20);
}

size_t random_alignment(std::mt19937_64 &random)
{
    return (random() % 4 != 0) ? Arena::default_alignment : size_t{1} << (random() % 17);
}

// Blocks that are out, with a byte pattern in each that shows any overlap.
class Shadow {
public:
    void add(const Block &block, size_t requested, uint8_t pattern)
    {
        const auto begin = reinterpret_cast<uintptr_t>(block.address);
        const auto next  = m_blocks.lower_bound(begin);
        BOOST_TEST_REQUIRE(
                ((next == m_blocks.end()) || (begin + block.length <= next->first)));
        if (next != m_blocks.begin()) {
            const auto before = std::prev(next);
            BOOST_TEST_REQUIRE(before->first + before->second.block.length <= begin);
        }
        memset(block.address, pattern, block.length);
        m_blocks[begin] = {block, requested, pattern};
        m_used += block.length;
        m_requested += requested;
    }

    Block remove(size_t choice)
    {
        auto entry = m_blocks.lower_bound(m_last + choice % (64 * mebi));
        if (entry == m_blocks.end()) {
            entry = m_blocks.begin();
        }
        const Entry taken   = entry->second;
        const auto *content = static_cast<const uint8_t *>(taken.block.address);
        const bool intact   = std::all_of(content, content + taken.block.length,
                                          [&](uint8_t byte) {
                                            return byte == taken.pattern;
                                        });
        BOOST_TEST_REQUIRE(intact);
        m_last = entry->first;
        m_used -= taken.block.length;
        m_requested -= taken.requested;
        m_blocks.erase(entry);
        return taken.block;
    }

    size_t count() const
    {
        return m_blocks.size();
    }

    size_t used() const
    {
        return m_used;
    }

    size_t requested() const
    {
        return m_requested;
    }

private:
    struct Entry {
        Block block;
        size_t requested;
        uint8_t pattern;
    };
    std::map<uintptr_t, Entry> m_blocks;
    uintptr_t m_last   = 0;
    size_t m_used      = 0;
    size_t m_requested = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(arena_random)

BOOST_AUTO_TEST_CASE(blocks_never_overlap_and_totals_agree)
{
    std::mt19937_64 random(42);
    FakeRegistrar registrar;
    Arena arena(small_arena(4 * mebi, 8 * mebi), registrar.callbacks());
    Shadow shadow;
    uint64_t failures = 0;

    const uint64_t count = operations(100000);
    for (uint64_t step = 0; step < count; ++step) {
        // Fills to the cap and empties again, in waves.
        const bool filling = (step / 3000) % 2 == 0;
        if ((shadow.count() == 0) || (random() % 100 < (filling ? 65u : 35u))) {
            const size_t size  = random_size(random);
            const size_t align = random_alignment(random);
            const Block block  = arena.allocate(size, align);
            if (!block) {
                ++failures;
                continue;
            }
            BOOST_TEST_REQUIRE(block.length >= size);
            BOOST_TEST_REQUIRE(reinterpret_cast<uintptr_t>(block.address) % align == 0u);
            const auto range = registrar.ranges.at(block.lkey);
            const auto begin = reinterpret_cast<uintptr_t>(block.address);
            BOOST_TEST_REQUIRE(begin >= range.begin);
            BOOST_TEST_REQUIRE(begin + block.length <= range.begin + range.length);
            shadow.add(block, size, static_cast<uint8_t>(random()));
        } else {
            BOOST_TEST_REQUIRE(arena.free(shadow.remove(random())));
        }
        if (step % 64 == 0) {
            const ArenaStats stats = arena.stats();
            BOOST_TEST_REQUIRE(stats.used == shadow.used());
            BOOST_TEST_REQUIRE(stats.requested == shadow.requested());
            BOOST_TEST_REQUIRE(stats.mapped <= 8 * mebi);
            BOOST_TEST_REQUIRE(stats.used <= stats.mapped);
            BOOST_TEST_REQUIRE(stats.failures == failures);
        }
    }
    while (shadow.count() > 0) {
        BOOST_TEST_REQUIRE(arena.free(shadow.remove(0)));
    }
    BOOST_TEST(arena.stats().used == 0u);
    BOOST_TEST(failures > 0u); // the cap was met
    BOOST_TEST(arena.stats().bad_frees == 0u);
    // Nothing is lost to fragmentation that cannot be undone.
    BOOST_TEST(static_cast<bool>(arena.allocate(4 * mebi)));
}

BOOST_AUTO_TEST_CASE(threads_share_an_arena)
{
    FakeRegistrar registrar;
    Arena arena(small_arena(4 * mebi, 64 * mebi), registrar.callbacks());
    std::mutex exchange_mutex;
    std::vector<Block> exchanged; // freed by another thread than the one that asked
    std::atomic<uint64_t> errors{0};

    const uint64_t count = operations(40000) / 4;
    const auto work      = [&](uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<Block> mine;
        for (uint64_t step = 0; step < count; ++step) {
            if ((mine.size() < 50) && (random() % 2 == 0)) {
                const Block block = arena.allocate(1 + random_size(random) / 8);
                if (block) {
                    *static_cast<uint64_t *>(block.address) = seed;
                    mine.push_back(block);
                }
            } else if (!mine.empty()) {
                const Block block = mine.back();
                mine.pop_back();
                if (*static_cast<uint64_t *>(block.address) != seed) {
                    ++errors;
                }
                const std::lock_guard<std::mutex> guard(exchange_mutex);
                exchanged.push_back(block);
                std::swap(exchanged.back(), exchanged[random() % exchanged.size()]);
                if (exchanged.size() > 20) {
                    errors += arena.free(exchanged.back()) ? 0 : 1;
                    exchanged.pop_back();
                }
            }
        }
        for (const Block &block : mine) {
            errors += arena.free(block) ? 0 : 1;
        }
    };

    std::vector<std::thread> threads;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        threads.emplace_back(work, seed);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Block &block : exchanged) {
        BOOST_TEST(arena.free(block));
    }
    BOOST_TEST(errors.load() == 0u);
    BOOST_TEST(arena.stats().used == 0u);
    BOOST_TEST(arena.stats().allocations == arena.stats().frees);
}

BOOST_AUTO_TEST_SUITE_END()
