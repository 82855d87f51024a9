// SPDX-License-Identifier: BSD-3-Clause
//
// The lock between threads: it excludes, whoever is favoured and whenever another thread comes.
#include <boost/test/unit_test.hpp>

#include "softrdma/brief_lock.h"

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

using softrdma::brief_lock;

namespace {

constexpr unsigned enough_to_be_favoured = 100;

// What only a holder touches. The two are equal outside.
struct guarded {
    void add()
    {
        std::lock_guard hold(lock);
        step();
    }

    void step()
    {
        torn |= first != second;
        first = first + 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        second = second + 1;
    }

    void add(unsigned times)
    {
        for (unsigned i = 0; i < times; ++i) {
            add();
        }
    }

    brief_lock lock;
    volatile uint64_t first = 0, second = 0;
    bool torn = false;
};

// Whether another thread gets it at once.
bool others_get(brief_lock &lock)
{
    bool got = false;
    std::thread([&] {
        got = lock.try_lock();
        if (got) {
            lock.unlock();
        }
    }).join();
    return got;
}

} // namespace

BOOST_AUTO_TEST_SUITE(brief_lock_of_threads)

BOOST_AUTO_TEST_CASE(who_has_it_does_not_get_it_again)
{
    brief_lock lock;
    for (unsigned i = 0; i < enough_to_be_favoured; ++i) {
        BOOST_TEST(lock.try_lock());
        BOOST_TEST(!lock.try_lock());
        lock.unlock();
    }
}

BOOST_AUTO_TEST_CASE(others_do_not_get_what_the_favoured_thread_has)
{
    guarded data;
    data.add(enough_to_be_favoured);
    data.lock.lock();
    BOOST_TEST(!others_get(data.lock));
    BOOST_TEST(!others_get(data.lock)); // nor once nobody is favoured any more
    data.lock.unlock();
    BOOST_TEST(others_get(data.lock));
    data.add();
    BOOST_TEST(data.first == enough_to_be_favoured + 1);
}

BOOST_AUTO_TEST_CASE(the_favoured_thread_does_not_get_what_another_has)
{
    guarded data;
    data.add(enough_to_be_favoured);
    std::latch taken(1), seen(1);
    std::thread other([&] {
        std::lock_guard hold(data.lock);
        taken.count_down();
        seen.wait();
        data.step();
    });
    taken.wait();
    BOOST_TEST(!data.lock.try_lock());
    seen.count_down();
    data.add(); // waits for it
    other.join();
    BOOST_TEST(data.first == enough_to_be_favoured + 2);
    BOOST_TEST(!data.torn);
}

BOOST_AUTO_TEST_CASE(another_may_follow_one_that_was_favoured_and_ended)
{
    guarded data;
    for (unsigned i = 1; i <= 4; ++i) {
        std::thread([&] { data.add(enough_to_be_favoured); }).join();
        BOOST_TEST(data.first == i * enough_to_be_favoured);
    }
}

// The other ones come at any moment of what the favoured one does.
BOOST_AUTO_TEST_CASE(nobody_is_inside_with_another)
{
    constexpr unsigned rounds = 600, others = 2, each = 200;
    for (unsigned round = 0; round < rounds; ++round) {
        guarded data;
        data.add(enough_to_be_favoured);
        std::atomic<unsigned> left = others;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < others; ++i) {
            threads.emplace_back([&] {
                data.add(each);
                left--;
            });
        }
        uint64_t mine = enough_to_be_favoured;
        while (left != 0) {
            data.add();
            ++mine;
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        BOOST_REQUIRE(!data.torn);
        BOOST_REQUIRE(data.first == data.second);
        BOOST_REQUIRE(data.first == mine + others * each);
    }
}

BOOST_AUTO_TEST_SUITE_END()
