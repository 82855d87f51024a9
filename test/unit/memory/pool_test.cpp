// SPDX-License-Identifier: BSD-3-Clause
#include "fake_registrar.hpp"

#include "memory/pool.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

struct Fixture {
    FakeRegistrar registrar;
    Arena arena{small_arena(4 * mebi, 256 * mebi), registrar.callbacks()};
};

PoolConfig config_of(size_t size, uint32_t step, uint32_t cap)
{
    PoolConfig config;
    config.buffer_size = size;
    config.step        = step;
    config.cap         = cap;
    return config;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(pool, Fixture)

BOOST_AUTO_TEST_CASE(last_in_is_first_out)
{
    BufferPool pool(arena, config_of(8192, 16, 1024));
    const Buffer first  = pool.get();
    const Buffer second = pool.get();
    pool.put(first);
    pool.put(second);
    BOOST_TEST(pool.get().address == second.address);
    BOOST_TEST(pool.get().address == first.address);
}

BOOST_AUTO_TEST_CASE(grows_to_the_cap_and_not_beyond)
{
    BufferPool pool(arena, config_of(1000, 10, 137));
    std::vector<Buffer> buffers;
    std::set<void *> addresses;
    while (const Buffer buffer = pool.get()) {
        buffers.push_back(buffer);
        addresses.insert(buffer.address);
        memset(buffer.address, 1, 1000);
    }
    BOOST_TEST(buffers.size() == 137u);
    BOOST_TEST(addresses.size() == 137u);
    BOOST_TEST(pool.size() == 137u);
    BOOST_TEST(pool.stats().in_use == 137u);
    BOOST_TEST(pool.stats().in_use_peak == 137u);
    BOOST_TEST(pool.stats().empty == 1u);
    BOOST_TEST(pool.last_error().find("137") != std::string::npos);
    BOOST_TEST(!pool.get());

    pool.put(buffers.back());
    BOOST_TEST(pool.get().address == buffers.back().address);
    for (const Buffer &buffer : buffers) {
        pool.put(buffer);
    }
    BOOST_TEST(pool.available() == 137u);
    BOOST_TEST(pool.stats().in_use_peak == 137u);
}

BOOST_AUTO_TEST_CASE(address_index_and_key_agree_for_every_shape)
{
    // Sizes around slots and chunks; offsets that move the first buffer.
    for (size_t size : {1, 64, 100, 8192, 8256, 70000, 300001, 1 << 20}) {
        for (size_t align : {1, 64, 512, 4096}) {
            for (size_t offset : {0, 16, 65}) {
                PoolConfig config   = config_of(size, 7, 40);
                config.alignment    = align;
                config.align_offset = offset;
                BufferPool pool(arena, config);
                BOOST_TEST_REQUIRE(pool.reserve(40));
                for (uint32_t i = 0; i < 40; ++i) {
                    const Buffer buffer = pool.get();
                    auto *bytes         = static_cast<char *>(buffer.address);
                    BOOST_TEST_REQUIRE(static_cast<bool>(buffer));
                    BOOST_TEST_REQUIRE(
                            (reinterpret_cast<uintptr_t>(bytes) + offset) % align == 0u);
                    BOOST_TEST_REQUIRE(pool.at(buffer.index).address == bytes);
                    BOOST_TEST_REQUIRE(pool.at(buffer.index).lkey == buffer.lkey);
                    BOOST_TEST_REQUIRE(pool.find(bytes).index == buffer.index);
                    BOOST_TEST_REQUIRE(pool.find(bytes + size - 1).address == bytes);
                    Registration registration;
                    BOOST_TEST_REQUIRE(arena.find(bytes + size - 1, &registration));
                    BOOST_TEST_REQUIRE(pool.lkey_of(bytes) == registration.lkey);
                }
                BOOST_TEST_REQUIRE(!pool.get());
            }
        }
    }
    BOOST_TEST(arena.stats().used == 0u); // pools gave all back
}

BOOST_AUTO_TEST_CASE(foreign_addresses_are_not_found)
{
    BufferPool pool(arena, config_of(5000, 8, 20));
    BufferPool other(arena, config_of(5000, 8, 20));
    int local = 0;
    BOOST_TEST(!pool.find(&local));
    BOOST_TEST(!pool.find(nullptr));
    const Buffer foreign = other.get();
    BOOST_TEST_REQUIRE(pool.reserve(20));
    BOOST_TEST(!pool.find(foreign.address));
    BOOST_TEST(!pool.put(foreign.address));
    BOOST_TEST(pool.available() == 20u);

    // Just outside the first buffer and behind the last one.
    BOOST_TEST(!pool.find(static_cast<char *>(pool.at(0).address) - 1));
    const Buffer last = pool.at(19);
    BOOST_TEST(!pool.find(static_cast<char *>(last.address) + 5056));

    const Buffer mine = pool.get();
    BOOST_TEST(pool.put(mine.address));
    BOOST_TEST(pool.available() == 20u);
}

BOOST_AUTO_TEST_CASE(refused_growth_is_tried_again_ever_more_rarely)
{
    registrar.bytes_left = 0;
    BufferPool pool(arena, config_of(4096, 16, 64));
    for (int i = 0; i < 1000; ++i) {
        BOOST_TEST_REQUIRE(!pool.get());
    }
    const PoolStats stats = pool.stats();
    BOOST_TEST(stats.empty == 1000u);
    BOOST_TEST(stats.failures >= 2u);
    BOOST_TEST(stats.failures <= 10u); // pauses of 1, 2, 4 ... 512 calls
    BOOST_TEST(pool.last_error().find("refused") != std::string::npos);

    registrar.bytes_left = SIZE_MAX;
    int calls            = 0;
    while (!pool.get()) {
        BOOST_TEST_REQUIRE(++calls <= 1024);
    }
    BOOST_TEST(pool.size() >= 16u);
    BOOST_TEST(pool.reserve(64)); // no pause for who insists
}

BOOST_AUTO_TEST_CASE(reserve_grows_beforehand)
{
    BufferPool pool(arena, config_of(8192, 64, 4096));
    BOOST_TEST(pool.reserve(4096));
    const uint64_t registrations = registrar.added;
    const uint64_t growths       = pool.stats().growths;
    for (int i = 0; i < 4096; ++i) {
        BOOST_TEST_REQUIRE(static_cast<bool>(pool.get()));
    }
    BOOST_TEST(registrar.added == registrations);
    BOOST_TEST(pool.stats().growths == growths);
    BOOST_TEST(registrations <= 10u); // 32 MiB in steps of 4
    BOOST_TEST(!pool.reserve(4097));
}

BOOST_AUTO_TEST_CASE(random_use_against_a_set)
{
    std::mt19937 random(7);
    BufferPool pool(arena, config_of(300, 5, 500));
    std::vector<Buffer> out;
    std::set<uint32_t> indices;
    uint32_t peak = 0;
    for (int step = 0; step < 50000; ++step) {
        const bool filling = (step / 1500) % 2 == 0;
        if (out.empty() || (random() % 100 < (filling ? 70u : 30u))) {
            const Buffer buffer = pool.get();
            BOOST_TEST_REQUIRE(static_cast<bool>(buffer) == (out.size() < 500));
            if (buffer) {
                BOOST_TEST_REQUIRE(indices.insert(buffer.index).second);
                BOOST_TEST_REQUIRE(buffer.index < pool.size());
                memcpy(buffer.address, &buffer.index, sizeof(buffer.index));
                out.push_back(buffer);
            }
        } else {
            std::swap(out.back(), out[random() % out.size()]);
            const Buffer buffer = out.back();
            out.pop_back();
            uint32_t stamp;
            memcpy(&stamp, buffer.address, sizeof(stamp));
            BOOST_TEST_REQUIRE(stamp == buffer.index);
            indices.erase(buffer.index);
            BOOST_TEST_REQUIRE(pool.put(buffer.address));
        }
        peak = std::max(peak, static_cast<uint32_t>(out.size()));
        BOOST_TEST_REQUIRE(pool.stats().in_use == out.size());
        BOOST_TEST_REQUIRE(pool.stats().in_use_peak == peak);
    }
}

BOOST_AUTO_TEST_CASE(bad_configurations_are_refused)
{
    PoolConfig config = config_of(0, 1, 1);
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
    config = config_of(size_t{1} << 40, 1, 1);
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
    config           = config_of(64, 1, 1);
    config.alignment = 48;
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
    config.alignment = 8192;
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
    config = config_of(64, 0, 1);
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
    config = config_of(64, 1, 0);
    BOOST_CHECK_THROW(BufferPool(arena, config), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
