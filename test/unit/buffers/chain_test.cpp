// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using be::Buffer;
using be::Chain;

namespace {

Buffer literal(const char *text)
{
    return Buffer::borrow(text, strlen(text));
}

std::string content(const Chain &chain)
{
    std::string text(chain.size(), '\0');
    chain.copy_to(text.data(), 0, text.size());
    return text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(chain)

BOOST_AUTO_TEST_CASE(parts_go_in_front_and_behind)
{
    Chain chain(literal("body"));
    chain.prepend(literal("head "));
    chain.append(literal(" tail"));
    BOOST_TEST(content(chain) == "head body tail");
    BOOST_TEST(chain.slices().size() == 3u);

    Chain outer(literal("<"));
    outer.append(chain);
    outer.prepend(chain);
    BOOST_TEST(content(outer) == "head body tail<head body tail");
    BOOST_TEST(content(chain) == "head body tail");
    outer.append(outer);
    BOOST_TEST(outer.size() == 58u);
}

BOOST_AUTO_TEST_CASE(empty_parts_leave_no_slice)
{
    Chain chain;
    chain.append(Buffer());
    chain.prepend(literal(""));
    chain.append(Chain());
    BOOST_TEST(chain.slices().empty());
    BOOST_TEST(chain.iovecs().empty());
    BOOST_TEST(content(chain.cut(0)).empty());
}

BOOST_AUTO_TEST_CASE(cut_and_split_copy_nothing)
{
    const Buffer first = literal("0123"), second = literal("4567");
    Chain chain(first);
    chain.append(second);

    Chain front = chain.cut(2);
    BOOST_TEST(content(front) == "01");
    BOOST_TEST(content(chain) == "234567");
    Chain back = chain.split(4);
    BOOST_TEST(content(chain) == "2345");
    BOOST_TEST(content(back) == "67");
    BOOST_TEST(static_cast<void *>(chain.slices()[0].data()) ==
               static_cast<void *>(first.data() + 2));
    BOOST_TEST(static_cast<void *>(back.slices()[0].data()) ==
               static_cast<void *>(second.data() + 2));

    Chain all = chain.split(0);
    BOOST_TEST(chain.empty());
    BOOST_TEST(content(all) == "2345");
    BOOST_CHECK_THROW((void)all.cut(5), std::out_of_range);
    BOOST_CHECK_THROW((void)all.split(5), std::out_of_range);
    BOOST_CHECK_THROW((void)all.slice(3, 2), std::out_of_range);
    BOOST_TEST(content(all) == "2345");
}

BOOST_AUTO_TEST_CASE(neighbours_become_one_slice)
{
    be::Allocator memory;
    Buffer whole      = Buffer::copy_of(memory, "abcdef", 6);
    const Buffer tail = whole.split(3);
    Chain chain(whole);
    chain.append(tail);
    BOOST_TEST(chain.slices().size() == 1u);
    BOOST_TEST(content(chain) == "abcdef");

    Chain swapped(tail);
    swapped.append(whole);
    BOOST_TEST(swapped.slices().size() == 2u);
}

BOOST_AUTO_TEST_CASE(one_slice_is_flat_already)
{
    be::Allocator memory;
    const Buffer one = Buffer::copy_of(memory, "abc", 3);
    Chain chain(one);
    BOOST_TEST(static_cast<void *>(chain.flatten(memory).data()) ==
               static_cast<void *>(one.data()));
    chain.append(literal("def"));
    BOOST_TEST(chain.flatten(memory).text() == "abcdef");
    BOOST_TEST(Chain().flatten(memory).empty());
}

BOOST_AUTO_TEST_CASE(iovecs_say_where_the_bytes_are)
{
    Chain chain(literal("one"));
    chain.append(literal("twelve"));
    const auto entries = chain.iovecs();
    BOOST_REQUIRE(entries.size() == 2u);
    BOOST_TEST(entries[1].iov_len == 6u);
    iovec entry;
    BOOST_TEST(chain.fill(&entry, 1) == 1u);
    BOOST_TEST(entry.iov_base == static_cast<void *>(chain.slices()[0].data()));
}

BOOST_AUTO_TEST_CASE(a_moved_chain_is_empty)
{
    Chain chain(literal("x"));
    Chain taken(std::move(chain));
    BOOST_TEST(chain.empty()); // NOLINT: that is the promise
    BOOST_TEST(chain.slices().empty());
    chain.append(literal("y"));
    chain = std::move(taken);
    BOOST_TEST(content(chain) == "x");
}

BOOST_AUTO_TEST_SUITE_END()
