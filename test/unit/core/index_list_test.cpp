// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <random>

#include "core/index_list.hpp"

using be::core::IndexList;

BOOST_AUTO_TEST_SUITE(index_list)

BOOST_AUTO_TEST_CASE(empty)
{
    IndexList list;

    list.resize(2);
    BOOST_TEST(list.empty());
    BOOST_TEST(list.size() == 0u);
    BOOST_TEST(list.front() == IndexList::none);
    BOOST_TEST(list.pop_front() == IndexList::none);
    list.erase(1); /* a stranger */
    BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(push_again_keeps_the_place)
{
    IndexList list;

    list.resize(3);
    list.push_back(2);
    list.push_back(0);
    list.push_back(2);
    BOOST_TEST(list.size() == 2u);
    BOOST_TEST(list.pop_front() == 2u);
    BOOST_TEST(list.pop_front() == 0u);
    BOOST_TEST(list.empty());
}

BOOST_AUTO_TEST_CASE(growing_keeps_members)
{
    IndexList list;

    list.resize(1);
    list.push_back(0);
    list.resize(5);
    list.resize(2); /* never shrinks */
    list.push_back(4);
    BOOST_TEST(list.contains(0));
    BOOST_TEST(list.contains(4));
    BOOST_TEST(!list.contains(3));
}

/* Against a plain deque. */
BOOST_AUTO_TEST_CASE(random_operations)
{
    std::mt19937 random(3);
    std::deque<uint32_t> model;
    IndexList list;

    list.resize(16);
    for (int i = 0; i < 20000; ++i) {
        uint32_t index = random() % 16;
        auto place     = std::find(model.begin(), model.end(), index);

        switch (random() % 3) {
        case 0:
            list.push_back(index);
            if (place == model.end()) {
                model.push_back(index);
            }
            break;
        case 1:
            list.erase(index);
            if (place != model.end()) {
                model.erase(place);
            }
            break;
        default:
            BOOST_REQUIRE(list.pop_front() ==
                          (model.empty() ? IndexList::none : model.front()));
            if (!model.empty()) {
                model.pop_front();
            }
        }
        BOOST_REQUIRE(list.size() == model.size());
        BOOST_REQUIRE(list.empty() == model.empty());
        BOOST_REQUIRE(list.front() == (model.empty() ? IndexList::none : model.front()));
        BOOST_REQUIRE(list.contains(index) ==
                      (std::find(model.begin(), model.end(), index) != model.end()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
