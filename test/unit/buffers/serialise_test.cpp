// SPDX-License-Identifier: BSD-3-Clause
//
// Serialisers that write where the device reads.
#include <byteexpress/flatbuffers.hpp>
#include <byteexpress/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace {

std::string content(const be::Chain &chain)
{
    std::string text(chain.size(), '\0');
    chain.copy_to(text.data(), 0, text.size());
    return text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(serialise)

BOOST_AUTO_TEST_CASE(a_flatbuffer_is_built_in_place)
{
    be::Allocator memory;
    {
        be::FlatBufferMemory flat(memory);
        flatbuffers::FlatBufferBuilder builder(64, &flat);
        const std::vector<double> numbers(5000, 2.5); // grows several times
        builder.Finish(builder.CreateVector(numbers));
        const void *built       = builder.GetBufferPointer();
        const be::Buffer buffer = be::take(builder);

        BOOST_TEST(static_cast<const void *>(buffer.data()) == built); // not copied
        BOOST_TEST(memory.find(buffer.data()).found);
        BOOST_TEST(memory.find(buffer.data() + buffer.size() - 1).found);
        const auto *vector = flatbuffers::GetRoot<flatbuffers::Vector<double>>(
                buffer.data());
        BOOST_TEST(vector->size() == 5000u);
        BOOST_TEST(vector->Get(4999) == 2.5);

        builder.Finish(builder.CreateString("again"));
        BOOST_TEST(be::take(builder).size() > 5u);
    }
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(a_writer_hands_out_the_stretches_of_its_chain)
{
    be::Allocator memory;
    {
        be::ChainWriter writer(memory, 16, 64);
        std::string expected;
        for (int i = 0; i < 50; ++i) {
            const auto stretch = writer.next();
            BOOST_TEST_REQUIRE(!stretch.empty());
            const size_t used = static_cast<size_t>(i) % (stretch.size() + 1);
            memset(stretch.data(), 'a' + i % 26, used);
            writer.back_up(stretch.size() - used);
            expected.append(used, static_cast<char>('a' + i % 26));
            BOOST_TEST_REQUIRE(writer.size() == expected.size());
        }
        writer.write("copied", 6);
        writer.append(be::Buffer::borrow(" as it is ", 10));
        writer.write("end", 3);
        const be::Chain chain = writer.take();
        BOOST_TEST(content(chain) == expected + "copied as it is end");
        BOOST_TEST(writer.size() == 0u);
        // Stretches of one block are one slice.
        BOOST_TEST(chain.slices().size() < 30u);
        BOOST_TEST(content(writer.take()).empty());
    }
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
