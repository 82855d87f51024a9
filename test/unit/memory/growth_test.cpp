// SPDX-License-Identifier: BSD-3-Clause
//
// How an arena grows: by doubling, less when the device gives less, ahead of need and
// elsewhere.
#include "fake_registrar.hpp"

#include "memory/pool.hpp"

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

// Says which thread registered, and lets others wait for it.
class WatchedRegistrar {
public:
    Registrar callbacks()
    {
        return {[this](void *, size_t length) {
                    const std::lock_guard<std::mutex> guard(m_mutex);
                    m_lengths.push_back(length);
                    m_thread = std::this_thread::get_id();
                    m_added.notify_all();
                    return Registration{};
                },
                [](const Registration &) {}};
    }

    // The thread that added number `count`.
    std::thread::id wait_for(size_t count)
    {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_added.wait(lock, [&] { return m_lengths.size() >= count; });
        return m_thread;
    }

    std::vector<size_t> lengths()
    {
        const std::lock_guard<std::mutex> guard(m_mutex);
        return m_lengths;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_added;
    std::vector<size_t> m_lengths;
    std::thread::id m_thread;
};

ArenaConfig growing(size_t first, size_t step)
{
    ArenaConfig config = small_arena(step, SIZE_MAX);
    config.first       = first;
    return config;
}

} // namespace

BOOST_AUTO_TEST_SUITE(growth)

BOOST_AUTO_TEST_CASE(regions_double_up_to_the_step)
{
    WatchedRegistrar registrar;
    Arena arena(growing(2 * mebi, 8 * mebi), registrar.callbacks());
    for (int i = 0; i < 30; ++i) {
        BOOST_TEST_REQUIRE(static_cast<bool>(arena.allocate(mebi)));
    }
    const std::vector<size_t> expected{2 * mebi, 4 * mebi, 8 * mebi, 8 * mebi, 8 * mebi};
    BOOST_TEST(registrar.lengths() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_device_that_refuses_gets_smaller_regions)
{
    FakeRegistrar registrar;
    registrar.largest = 4 * mebi;
    Arena arena(growing(32 * mebi, 64 * mebi), registrar.callbacks());
    BOOST_TEST(static_cast<bool>(arena.allocate(100)));
    BOOST_TEST(arena.stats().mapped == 4 * mebi);
    std::string why;
    BOOST_TEST(!arena.allocate(6 * mebi, 64, &why));
    BOOST_TEST(why.find("refused") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_next_region_is_there_before_it_is_needed)
{
    WatchedRegistrar registrar;
    ArenaConfig config = growing(4 * mebi, 4 * mebi);
    config.ahead       = true;
    Arena arena(config, registrar.callbacks());
    BOOST_TEST(static_cast<bool>(arena.allocate(3 * mebi)));
    BOOST_TEST(registrar.lengths().size() == 1u);
    BOOST_TEST(static_cast<bool>(arena.allocate(mebi * 3 / 4)));
    BOOST_TEST((registrar.wait_for(2) != std::this_thread::get_id()));
    BOOST_TEST(static_cast<bool>(arena.allocate(3 * mebi)));
    BOOST_TEST(registrar.lengths().size() == 2u);
    BOOST_TEST(arena.stats().ahead == 1u);
}

BOOST_AUTO_TEST_CASE(who_must_not_wait_is_served_later)
{
    WatchedRegistrar registrar;
    Arena arena(growing(4 * mebi, 4 * mebi), registrar.callbacks());
    std::string why;
    BOOST_TEST(!arena.allocate(mebi, 64, &why, Growth::elsewhere));
    BOOST_TEST(why.find("not waited for") != std::string::npos);
    BOOST_TEST((registrar.wait_for(1) != std::this_thread::get_id()));
    // It is added a moment after it was registered.
    BOOST_TEST(arena.reserve(mebi));
    BOOST_TEST(static_cast<bool>(arena.allocate(mebi, 64, &why, Growth::elsewhere)));
    BOOST_TEST(registrar.lengths().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_arena_may_end_while_it_grows)
{
    for (int i = 0; i < 200; ++i) {
        WatchedRegistrar registrar;
        Arena arena(growing(2 * mebi, 4 * mebi), registrar.callbacks());
        BOOST_TEST(!arena.allocate(mebi, 64, nullptr, Growth::elsewhere));
    }
}

BOOST_AUTO_TEST_CASE(reserve_and_trim)
{
    FakeRegistrar registrar;
    Arena arena(growing(2 * mebi, 8 * mebi), registrar.callbacks());
    BOOST_TEST(arena.reserve(20 * mebi));
    BOOST_TEST(arena.stats().mapped >= 20 * mebi);
    const Block block = arena.allocate(100);
    arena.trim(0);
    BOOST_TEST(arena.stats().regions == 1u);
    arena.free(block);
    arena.trim(SIZE_MAX);
    BOOST_TEST(arena.stats().regions == 1u);
    arena.trim(0);
    BOOST_TEST(registrar.ranges.empty());

    registrar.bytes_left = 0;
    std::string why;
    BOOST_TEST(!arena.reserve(mebi, &why));
    BOOST_TEST(why.find("refused") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_pool_that_must_not_wait)
{
    WatchedRegistrar registrar;
    Arena arena(growing(2 * mebi, 2 * mebi), registrar.callbacks());
    BufferPool pool(arena, {.buffer_size = 8192, .step = 128});
    BOOST_TEST(pool.reserve(128));
    const size_t mapped = registrar.lengths().size();
    pool.grow_elsewhere();
    std::vector<Buffer> taken;
    while (const Buffer buffer = pool.get()) {
        taken.push_back(buffer);
    }
    BOOST_TEST(pool.last_error().find("not waited for") != std::string::npos);
    BOOST_TEST((registrar.wait_for(mapped + 1) != std::this_thread::get_id()));
    BOOST_TEST(arena.reserve(mebi)); // added a moment after it was registered
    Buffer buffer;
    for (int i = 0; (i < 65536) && !buffer; ++i) { // it asks less and less often
        buffer = pool.get();
    }
    BOOST_TEST(static_cast<bool>(buffer));
}

BOOST_AUTO_TEST_CASE(what_was_not_to_be_had_is_said_once)
{
    std::vector<std::string> said;
    FakeRegistrar registrar;
    ArenaConfig config      = growing(2 * mebi, 2 * mebi);
    config.region.numa_node = 4095;
    config.notice           = [&](const std::string &note) { said.push_back(note); };
    Arena arena(config, registrar.callbacks());
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST_REQUIRE(static_cast<bool>(arena.allocate(mebi)));
    }
    BOOST_REQUIRE(said.size() == 1u);
    BOOST_TEST(said[0].find("4095") != std::string::npos);
    BOOST_TEST(arena.note() == said[0]);
}

BOOST_AUTO_TEST_SUITE_END()
