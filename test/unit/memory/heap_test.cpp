// SPDX-License-Identifier: BSD-3-Clause
//
// The heap by itself: caches, owners, reserve, threads that come and go, fork.
#include "fake_registrar.hpp"

#include "memory/heap.hpp"

#include "lib/sanitized.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

HeapConfig small_heap(size_t cap = 64 * mebi)
{
    HeapConfig config;
    config.arena       = small_arena(4 * mebi, cap);
    config.arena.first = 2 * mebi;
    return config;
}

} // namespace

BOOST_AUTO_TEST_SUITE(heap)

BOOST_AUTO_TEST_CASE(a_freed_block_is_the_next_one)
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    for (const size_t size : {1u, 64u, 65u, 4096u, 32768u, 40000u, 262144u, 1048576u}) {
        void *first = heap.allocate(size);
        BOOST_REQUIRE(first != nullptr);
        heap.free(first, size);
        BOOST_TEST(heap.allocate(size) == first);
        heap.free(first);
        BOOST_TEST(heap.allocate(size) == first);
        heap.free(first, size);
    }
    BOOST_TEST(heap.stats().live == 0u);
    BOOST_TEST(heap.stats().arena.bad_frees == 0u);
}

BOOST_AUTO_TEST_CASE(alignment_is_kept_for_every_size)
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    for (size_t align = 1; align <= region_unit; align *= 2) {
        for (const size_t size : {1u, 100u, 5000u, 33000u, 70000u, 1100000u}) {
            void *block = heap.allocate(size, align);
            BOOST_REQUIRE(block != nullptr);
            BOOST_TEST(reinterpret_cast<uintptr_t>(block) % align == 0u);
            memset(block, 1, size);
            heap.free(block, size, align);
        }
    }
    std::string why;
    BOOST_TEST(heap.allocate(1, 3, 0, &why) == nullptr);
    BOOST_TEST(why.find("alignment 3") != std::string::npos);
    BOOST_TEST(heap.allocate(1, region_unit * 2) == nullptr);
    BOOST_TEST(heap.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(a_cache_is_bounded)
{
    FakeRegistrar registrar;
    HeapConfig config   = small_heap();
    config.thread_cache = mebi;
    Heap heap(config, registrar.callbacks());
    std::vector<std::pair<void *, size_t>> blocks;
    for (size_t size = 64; size <= mebi / 2; size += size / 4) {
        for (int i = 0; i < 8; ++i) {
            blocks.emplace_back(heap.allocate(size), size);
            BOOST_REQUIRE(blocks.back().first != nullptr);
        }
    }
    for (const auto &[block, size] : blocks) {
        heap.free(block, size);
        BOOST_TEST_REQUIRE(heap.stats().cached <= mebi);
    }
    BOOST_TEST(heap.stats().cached > mebi / 2);
    heap.trim(0);
    BOOST_TEST(heap.stats().cached == 0u);
    BOOST_TEST(heap.stats().arena.used == 0u);
    BOOST_TEST(heap.stats().arena.mapped == 0u);
    BOOST_TEST(registrar.ranges.empty());
}

BOOST_AUTO_TEST_CASE(classes_and_owners_are_counted)
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    const unsigned rpc = heap.add_owner("rpc");

    void *mine      = heap.allocate(100);
    void *theirs    = heap.allocate(100, 64, rpc);
    void *large     = heap.allocate(2 * mebi, 64, rpc);
    HeapStats stats = heap.stats();
    BOOST_TEST(stats.classes[class_of(100)].allocations == 2u);
    BOOST_TEST(stats.classes[class_of(100)].requested == 200u);
    BOOST_TEST(stats.classes[class_count].allocations == 1u);
    BOOST_TEST(stats.owners[0].name == "application");
    BOOST_TEST(stats.owners[0].live == 128u);
    BOOST_TEST(stats.owners[rpc].live == 128u + 2 * mebi);
    BOOST_TEST(stats.live == 256u + 2 * mebi);

    heap.free(mine, 100);
    heap.free(theirs, 100, 64, rpc);
    heap.free(large, 2 * mebi, 64, rpc);
    stats = heap.stats();
    BOOST_TEST(stats.owners[0].frees == 1u);
    BOOST_TEST(stats.owners[rpc].frees == 2u);
    BOOST_TEST(stats.live == 0u);

    for (unsigned i = rpc + 1; i < Heap::max_owners; ++i) {
        heap.add_owner("further");
    }
    BOOST_CHECK_THROW((void)heap.add_owner("too many"), std::length_error);
}

BOOST_AUTO_TEST_CASE(the_reserve_is_for_reception_alone)
{
    FakeRegistrar registrar;
    HeapConfig config      = small_heap(8 * mebi);
    config.receive_reserve = 2 * mebi;
    Heap heap(config, registrar.callbacks());
    const unsigned receiver = heap.add_owner("receive", true);

    std::vector<void *> taken;
    while (void *block = heap.allocate(65536)) { // leaves no gap
        taken.push_back(block);
    }
    std::vector<void *> received;
    std::string why;
    while (void *block = heap.allocate(100000, 64, receiver, &why)) {
        Registration registration;
        BOOST_TEST(heap.find(block, &registration));
        received.push_back(block);
    }
    BOOST_TEST(received.size() == 2 * mebi / 102400);
    BOOST_TEST(why.find("limit") != std::string::npos);
    BOOST_TEST(heap.allocate(100) == nullptr);
    for (void *block : received) {
        heap.free(block, 100000, 64, receiver);
    }
    for (void *block : taken) {
        heap.free(block);
    }
    BOOST_TEST(heap.stats().live == 0u);
    BOOST_TEST(heap.stats().reserve.used == 0u);
}

BOOST_AUTO_TEST_CASE(what_an_ending_thread_cached_comes_back)
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    std::thread([&heap] {
        for (size_t size = 64; size < 100000; size *= 2) {
            heap.free(heap.allocate(size), size);
        }
    }).join();
    BOOST_TEST(heap.stats().cached == 0u);
    BOOST_TEST(heap.stats().arena.used == 0u);
    BOOST_TEST(heap.stats().classes[class_of(64)].allocations == 1u); // not forgotten
}

BOOST_AUTO_TEST_CASE(heaps_end_before_their_threads)
{
    std::atomic<int> stage{0};
    FakeRegistrar registrar;
    auto heap = std::make_unique<Heap>(small_heap(), registrar.callbacks());
    std::thread thread([&] {
        heap->free(heap->allocate(100), 100);
        stage = 1;
        stage.notify_all();
        stage.wait(1);
        // The address of the old one may be that of the new one: it must not matter.
        for (int i = 0; i < 3; ++i) {
            Heap other(small_heap(), registrar.callbacks());
            void *block = other.allocate(100);
            other.free(block, 100);
            BOOST_TEST(other.stats().classes[class_of(100)].allocations == 1u);
        }
    });
    stage.wait(0);
    heap.reset();
    stage = 2;
    stage.notify_all();
    thread.join();
    BOOST_TEST(registrar.ranges.empty());
    BOOST_TEST(registrar.wrong == 0u);
}

BOOST_AUTO_TEST_CASE(one_thread_allocates_and_another_frees)
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    constexpr size_t slots = 64;
    std::array<std::atomic<void *>, slots> ring{};
    constexpr int count = 50000;
    std::thread consumer([&] {
        for (int i = 0; i < count; ++i) {
            std::atomic<void *> &slot = ring[static_cast<size_t>(i) % slots];
            slot.wait(nullptr);
            heap.free(slot.exchange(nullptr), 4096);
            slot.notify_all();
        }
    });
    for (int i = 0; i < count; ++i) {
        std::atomic<void *> &slot = ring[static_cast<size_t>(i) % slots];
        while (void *full = slot.load()) {
            slot.wait(full);
        }
        slot = heap.allocate(4096);
        slot.notify_all();
    }
    consumer.join();
    BOOST_TEST(heap.stats().live == 0u);
    BOOST_TEST(heap.stats().arena.mapped <= 4 * mebi); // it does not pile up
}

// Not with a sanitizer: clang 14's runtime does not look after its own allocator's locks in fork(), so that a child of
// threads which allocate hangs in that now and then.
BOOST_AUTO_TEST_CASE(children_of_a_busy_process_can_go_on,
                     *boost::unit_test::enable_if<!be::test::sanitized>())
{
    FakeRegistrar registrar;
    Heap heap(small_heap(), registrar.callbacks());
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!stop.load()) {
                void *block = heap.allocate(3 * mebi); // the arena's lock, each time
                heap.free(block, 3 * mebi);
                heap.free(heap.allocate(100), 100);
            }
        });
    }
    void *kept = heap.allocate(5000);
    for (int i = 0; i < 50; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30); // a lock that is never free would hang it
            heap.free(kept, 5000);
            for (int j = 0; j < 100; ++j) {
                heap.free(heap.allocate(4 * mebi), 4 * mebi);
                heap.free(heap.allocate(200), 200);
            }
            _exit(0);
        }
        BOOST_TEST_REQUIRE(child > 0);
        int status = 1;
        BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
        BOOST_TEST_REQUIRE(status == 0);
    }
    stop = true;
    for (std::thread &thread : threads) {
        thread.join();
    }
    heap.free(kept, 5000);
    BOOST_TEST(heap.stats().live == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
