// SPDX-License-Identifier: BSD-3-Clause
//
// Random operations on chains against strings; nothing may leak.
#include <byteexpress/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>

BOOST_AUTO_TEST_CASE(chains_behave_as_strings)
{
    std::mt19937_64 random(7);
    be::Allocator memory;
    {
        be::Chain chain, other;
        std::string text, other_text;
        for (int step = 0; step < 30000; ++step) {
            std::string part(random() % 20, '\0');
            for (char &letter : part) {
                letter = static_cast<char>('a' + random() % 26);
            }
            const be::Buffer buffer = be::Buffer::copy_of(memory, part.data(),
                                                          part.size());
            const size_t at         = random() % (text.size() + 1);
            switch (random() % 9) {
            case 0:
                chain.append(buffer);
                text += part;
                break;
            case 1:
                chain.prepend(buffer);
                text.insert(0, part);
                break;
            case 2:
                other      = chain.cut(at);
                other_text = text.substr(0, at);
                text.erase(0, at);
                break;
            case 3:
                other      = chain.split(at);
                other_text = text.substr(at);
                text.resize(at);
                break;
            case 4:
                chain.append(other);
                text += other_text;
                break;
            case 5:
                chain.prepend(std::move(other));
                text.insert(0, other_text);
                other_text.clear();
                break;
            case 6:
                other      = chain.slice(at, (text.size() - at) / 2);
                other_text = text.substr(at, (text.size() - at) / 2);
                break;
            case 7:
                chain.drop_front(at);
                text.erase(0, at);
                break;
            default:
                chain.drop_back(at);
                text.resize(text.size() - at);
            }
            if (text.size() > 2000) {
                chain.drop_front(1500);
                text.erase(0, 1500);
            }
            BOOST_TEST_REQUIRE(chain.size() == text.size());
            BOOST_TEST_REQUIRE(other.size() == other_text.size());
            std::string seen;
            for (const be::Buffer &slice : chain.slices()) {
                BOOST_TEST_REQUIRE(!slice.empty());
                seen += slice.text();
            }
            BOOST_TEST_REQUIRE(seen == text);
        }
    }
    BOOST_TEST(memory.stats().live == 0u);
}
