// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that allocate, free and swap blocks, each of which carries a pattern: whoever
// finds another one than he wrote has shared the memory with somebody.
#include "fake_registrar.hpp"
#include "sizes.hpp"

#include "memory/heap.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

constexpr size_t mebi = size_t{1} << 20;

struct Owned {
    void *address = nullptr;
    size_t size   = 0;
    size_t align  = 64;
    uint64_t tag  = 0;
};

// Both ends and a word of each page.
template<typename Action>
void each_mark(const Owned &block, Action action)
{
    auto *bytes = static_cast<char *>(block.address);
    for (size_t offset = 0; offset + 8 <= block.size; offset += 4096) {
        action(bytes + offset);
    }
    action(bytes + block.size / 8 * 8 - 8);
}

void mark(const Owned &block)
{
    each_mark(block, [&](char *place) { memcpy(place, &block.tag, 8); });
}

bool intact(const Owned &block)
{
    bool same = true;
    each_mark(block, [&](char *place) { same &= memcmp(place, &block.tag, 8) == 0; });
    return same;
}

// Blocks on their way from one thread to another.
class Exchange {
public:
    Owned swap(const Owned &given, size_t place)
    {
        const std::lock_guard<std::mutex> guard(m_mutex);
        return std::exchange(m_places[place % m_places.size()], given);
    }

    std::vector<Owned> &rest()
    {
        return m_places;
    }

private:
    std::mutex m_mutex;
    std::vector<Owned> m_places = std::vector<Owned>(100);
};

class Worker {
public:
    Worker(Heap &heap, Exchange &exchange, uint64_t seed) :
        m_heap(heap), m_exchange(exchange), m_random(seed), m_tag(seed << 40)
    {
    }

    void run(uint64_t operations)
    {
        while (m_done < operations) {
            const bool filling = (m_done / 2000) % 2 == 0;
            if (m_blocks.empty() || (m_random() % 100 < (filling ? 60u : 40u))) {
                allocate();
            } else {
                std::swap(m_blocks[m_random() % m_blocks.size()], m_blocks.back());
                free(m_blocks.back());
                m_blocks.pop_back();
            }
            if (!m_blocks.empty() && (m_random() % 8 == 0)) {
                const Owned other = m_exchange.swap(m_blocks.back(), m_random());
                m_blocks.pop_back();
                if (other.address != nullptr) {
                    m_blocks.push_back(other);
                }
            }
        }
        for (const Owned &block : m_blocks) {
            free(block);
        }
    }

    uint64_t wrong() const
    {
        return m_wrong;
    }

private:
    void allocate()
    {
        Owned block;
        block.size    = std::max<size_t>(8, log_uniform(m_random, 3, 18));
        block.align   = (m_random() % 8 != 0) ? 64 : size_t{1} << (m_random() % 15);
        block.tag     = ++m_tag;
        block.address = m_heap.allocate(block.size, block.align);
        ++m_done;
        if (block.address != nullptr) {
            Registration registration;
            m_wrong += m_heap.find(block.address, &registration) ? 0 : 1;
            m_wrong += reinterpret_cast<uintptr_t>(block.address) % block.align != 0;
            mark(block);
            m_blocks.push_back(block);
        }
    }

    void free(const Owned &block)
    {
        m_wrong += intact(block) ? 0 : 1;
        ++m_done;
        if (m_random() % 4 == 0) {
            m_heap.free(block.address);
        } else {
            m_heap.free(block.address, block.size, block.align);
        }
    }

    Heap &m_heap;
    Exchange &m_exchange;
    std::mt19937_64 m_random;
    std::vector<Owned> m_blocks;
    uint64_t m_tag;
    uint64_t m_done  = 0;
    uint64_t m_wrong = 0;
};

void work(HeapConfig config, uint64_t total, unsigned count)
{
    FakeRegistrar registrar;
    Heap heap(config, registrar.callbacks());
    Exchange exchange;
    std::vector<Worker> workers;
    for (unsigned i = 0; i < count; ++i) {
        workers.emplace_back(heap, exchange, i + 1);
    }
    std::vector<std::thread> threads;
    for (Worker &worker : workers) {
        threads.emplace_back([&worker, total, count] { worker.run(total / count); });
    }
    uint64_t wrong = 0;
    for (unsigned i = 0; i < count; ++i) {
        threads[i].join();
        wrong += workers[i].wrong();
    }
    for (const Owned &block : exchange.rest()) {
        if (block.address != nullptr) {
            wrong += intact(block) ? 0 : 1;
            heap.free(block.address, block.size, block.align);
        }
    }
    BOOST_TEST(wrong == 0u);

    heap.trim(0);
    const HeapStats stats = heap.stats();
    BOOST_TEST(stats.live == 0u);
    BOOST_TEST(stats.cached == 0u);
    BOOST_TEST(stats.arena.used == 0u);
    BOOST_TEST(stats.arena.mapped == 0u);
    BOOST_TEST(stats.arena.bad_frees == 0u);
    BOOST_TEST(stats.owners[0].allocations == stats.owners[0].frees);
    BOOST_TEST(stats.owners[0].allocations + stats.failures >= total / 2 - count);
    BOOST_TEST(registrar.ranges.empty());
    BOOST_TEST(registrar.wrong == 0u);
}

HeapConfig heap_of(size_t cap)
{
    HeapConfig config;
    config.arena        = small_arena(8 * mebi, cap);
    config.thread_cache = mebi;
    return config;
}

} // namespace

BOOST_AUTO_TEST_SUITE(heap_random)

BOOST_AUTO_TEST_CASE(four_threads_with_enough_memory)
{
    HeapConfig config  = heap_of(SIZE_MAX);
    config.arena.ahead = true;
    work(config, operations(200000), 4);
}

BOOST_AUTO_TEST_CASE(four_threads_at_the_limit)
{
    work(heap_of(24 * mebi), operations(200000) / 4, 4);
}

BOOST_AUTO_TEST_CASE(two_threads_in_debug_mode)
{
    HeapConfig config = heap_of(64 * mebi);
    config.debug      = true;
    config.report     = [](const std::string &text) { BOOST_TEST_REQUIRE(text.empty()); };
    work(config, operations(200000) / 20, 2);
}

BOOST_AUTO_TEST_SUITE_END()
