// SPDX-License-Identifier: BSD-3-Clause
//
// The debug mode: each kind of misuse is found, and says whose block it was.
#include "fake_registrar.hpp"

#include "memory/heap.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <vector>

using namespace be::memory;
using namespace be::memory::test;

namespace {

struct DebugHeap {
    DebugHeap() : heap(config(), registrar.callbacks()), rpc(heap.add_owner("rpc"))
    {
    }

    HeapConfig config()
    {
        HeapConfig config;
        config.arena  = small_arena(4 << 20, 16 << 20);
        config.debug  = true;
        config.report = [this](const std::string &text) { reports.push_back(text); };
        return config;
    }

    char *allocate(size_t size)
    {
        return static_cast<char *>(heap.allocate(size, 64, rpc));
    }

    // One report, of this block, with that text in it.
    void expect(const char *what) const
    {
        BOOST_REQUIRE(reports.size() == 1u);
        BOOST_TEST(reports[0].find(what) != std::string::npos, reports[0]);
        BOOST_TEST(reports[0].find("owner \"rpc\"") != std::string::npos, reports[0]);
    }

    std::vector<std::string> reports;
    FakeRegistrar registrar;
    Heap heap;
    unsigned rpc;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(heap_debug, DebugHeap)

BOOST_AUTO_TEST_CASE(correct_use_is_not_reported)
{
    std::vector<char *> blocks;
    for (size_t size = 1; size < 100000; size = size * 3 / 2 + 1) {
        char *block = allocate(size);
        BOOST_REQUIRE(block != nullptr);
        memset(block, 7, size);
        heap.free(block, size, 64, rpc);
        blocks.push_back(allocate(size));
        memset(blocks.back(), 7, size);
    }
    heap.check();
    for (char *block : blocks) {
        heap.free(block);
    }
    heap.check();
    BOOST_TEST(reports.empty());
    BOOST_TEST(heap.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(a_write_past_the_end)
{
    char *block = allocate(100);
    block[100]  = 1;
    heap.free(block, 100, 64, rpc);
    expect("written past its end");
}

BOOST_AUTO_TEST_CASE(a_write_in_front)
{
    char *block = allocate(100);
    block[-1]   = 1;
    heap.check();
    heap.check(); // says it once
    expect("written in front of");
}

BOOST_AUTO_TEST_CASE(a_double_free)
{
    char *block = allocate(100);
    heap.free(block, 100, 64, rpc);
    heap.free(block, 100, 64, rpc);
    expect("freed twice");
    BOOST_TEST(heap.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(a_write_after_free)
{
    char *block = allocate(100);
    heap.free(block, 100, 64, rpc);
    block[50] = 1;
    heap.check();
    expect("written to after it had been freed");
}

BOOST_AUTO_TEST_CASE(a_free_with_the_wrong_size)
{
    char *block = allocate(100);
    heap.free(block, 90, 64, rpc);
    expect("freed as one of 90 bytes");
}

BOOST_AUTO_TEST_CASE(a_free_by_another_owner)
{
    char *block = allocate(100);
    heap.free(block, 100);
    expect("freed by owner \"application\"");
}

BOOST_AUTO_TEST_CASE(a_free_of_no_block)
{
    char *block = allocate(100);
    heap.free(block + 8, 92, 64, rpc);
    expect("where no block begins");
    heap.free(block, 100, 64, rpc);
    BOOST_TEST(reports.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_was_freed_is_given_back_when_memory_is_short)
{
    for (int i = 0; i < 100; ++i) {
        char *block = allocate(1 << 20);
        BOOST_REQUIRE(block != nullptr);
        heap.free(block, 1 << 20, 64, rpc);
    }
    BOOST_TEST(reports.empty());
}

BOOST_AUTO_TEST_SUITE_END()
