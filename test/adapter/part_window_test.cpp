// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of a stream that come: in order, once each, and no more than there is credit.
#include "adapter/part_window.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <string>

namespace be::adapter {

namespace {

Body numbered(uint64_t number)
{
    return Body::take(std::to_string(number));
}

} // namespace

BOOST_AUTO_TEST_SUITE(part_window)

BOOST_AUTO_TEST_CASE(parts_in_any_order_leave_in_order)
{
    std::mt19937 random(1);
    for (size_t places : {1u, 2u, 3u, 64u}) {
        PartWindow window(places);
        uint64_t next = 0;
        std::vector<uint64_t> out; // sent, not yet there
        uint64_t sent = 0;
        while (next < 1000) {
            if (window.credit_is_due()) {
                window.give_credit();
            }
            BOOST_REQUIRE(window.credit() <= next + places);
            for (; sent < window.credit(); sent++) {
                BOOST_REQUIRE(window.reserve(sent) == nullptr);
                out.push_back(sent);
            }
            std::shuffle(out.begin(), out.end(), random);
            for (size_t some = random() % (out.size() + 1); some > 0; some--) {
                window.put(out.back(), numbered(out.back()));
                out.pop_back();
            }
            while (window.ready()) {
                BOOST_REQUIRE(window.take().text() == std::to_string(next++));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_nobody_may_send_is_named)
{
    PartWindow window(2);
    BOOST_TEST(window.reserve(0) == std::string("a part without credit"));
    window.give_credit();
    BOOST_TEST(window.reserve(1) == nullptr);
    BOOST_TEST(window.reserve(1) == std::string("a part that has come before"));
    BOOST_TEST(window.reserve(2) == std::string("a part without credit"));
    BOOST_TEST(window.reserve(UINT64_MAX) == std::string("a part without credit"));
    BOOST_TEST(window.set_total(3) == std::string("more parts than credit"));
    BOOST_TEST(window.set_total(1) == std::string("fewer parts than have come"));
    BOOST_TEST(window.reserve(0) == nullptr);
    window.put(0, numbered(0));
    window.take();
    BOOST_TEST(window.reserve(0) == std::string("a part that has come before"));
    BOOST_TEST(window.set_total(0) == std::string("fewer parts than have come"));
    BOOST_TEST(window.set_total(2) == nullptr);
    BOOST_TEST(window.set_total(2) == nullptr);
    BOOST_TEST(window.set_total(1) == std::string("two numbers of parts"));
    BOOST_TEST(window.reserve(2) == std::string("a part behind the last"));
}

BOOST_AUTO_TEST_CASE(it_is_complete_when_all_are_there_and_at_its_end_when_all_were_taken)
{
    PartWindow window(2);
    window.give_credit();
    BOOST_TEST(window.reserve(0) == nullptr);
    BOOST_TEST(window.set_total(1) == nullptr);
    BOOST_TEST(!window.complete());
    window.put(0, Body());
    BOOST_TEST(window.complete());
    BOOST_TEST(!window.at_end());
    BOOST_TEST(window.take().empty());
    BOOST_TEST(window.at_end());
    BOOST_TEST(!window.credit_is_due());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::adapter
