// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

be::AllocatorOptions ordinary()
{
    be::AllocatorOptions options;
    options.huge_pages = false;
    return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(buffer)

BOOST_AUTO_TEST_CASE(slices_share_and_the_last_one_frees)
{
    be::Allocator memory(ordinary());
    be::Buffer tail;
    {
        be::Buffer whole = be::Buffer::copy_of(memory, "0123456789", 10);
        BOOST_TEST(whole.unique());
        tail = whole.split(6);
        BOOST_TEST(!whole.unique());
        BOOST_TEST(whole.text() == "012345");
        BOOST_TEST(static_cast<void *>(tail.data()) ==
                   static_cast<void *>(whole.data() + 6));
        BOOST_TEST(whole.slice(2, 3).text() == "234");
    }
    BOOST_TEST(tail.text() == "6789");
    BOOST_TEST(tail.unique());
    BOOST_TEST(memory.stats().live > 0u);
    tail = be::Buffer();
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(ends_can_be_dropped)
{
    be::Buffer text = be::Buffer::borrow("abcdef", 6);
    text.drop_front(2);
    text.drop_back(1);
    BOOST_TEST(text.text() == "cde");
    text.drop_back(100);
    BOOST_TEST(text.empty());
    BOOST_TEST(!be::Buffer().unique());
}

BOOST_AUTO_TEST_CASE(foreign_memory_is_released_once)
{
    char data[8] = "foreign";
    int released = 0;
    {
        be::Buffer buffer = be::Buffer::adopt(data, 7, [&](void *address) {
            BOOST_TEST(address == data);
            ++released;
        });
        be::Buffer copy   = buffer;
        be::Buffer part   = copy.slice(3, 2);
        buffer            = be::Buffer();
        copy              = be::Buffer();
        BOOST_TEST(released == 0);
        BOOST_TEST(part.text() == "ei");
    }
    BOOST_TEST(released == 1);
    BOOST_CHECK_THROW(be::Buffer::adopt(data, 7, nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(slices_outside_are_refused)
{
    const be::Buffer text = be::Buffer::borrow("abcdef", 6);
    BOOST_CHECK_THROW((void)text.slice(4, 3), std::out_of_range);
    BOOST_CHECK_THROW((void)text.slice(7, 0), std::out_of_range);
    BOOST_CHECK_THROW((void)text.slice(1, SIZE_MAX), std::out_of_range);
    BOOST_CHECK_THROW((void)be::Buffer(text).split(7), std::out_of_range);
    BOOST_TEST(text.slice(6, 0).empty());
}

BOOST_AUTO_TEST_CASE(no_memory_is_an_exception_and_leaks_nothing)
{
    be::AllocatorOptions options = ordinary();
    options.limit                = size_t{2} << 20;
    be::Allocator memory(options);
    BOOST_CHECK_THROW((void)be::Buffer::allocate(memory, size_t{3} << 20),
                      std::bad_alloc);
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(threads_drop_slices_of_one_buffer)
{
    be::Allocator memory(ordinary());
    for (int round = 0; round < 200; ++round) {
        const be::Buffer whole = be::Buffer::allocate(memory, 4096);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back(
                    [part = whole.slice(static_cast<size_t>(i) * 1024, 1024)] {
                        memset(part.data(), 1, part.size());
                    });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
