// SPDX-License-Identifier: BSD-3-Clause

#include "control/address.hpp"

#include <boost/test/unit_test.hpp>

using be::control::Address;

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(writes_what_it_parses)
{
    for (const char *text : {"127.0.0.1:1", "0.0.0.0:65535", "255.255.255.255:4000",
                             "[::1]:80", "[2001:db8::1]:0", "[fe80::1:2:3:4]:9"}) {
        auto address = Address::parse(text);
        BOOST_REQUIRE_MESSAGE(address, text);
        BOOST_TEST(address->to_string() == text);
    }
}

BOOST_AUTO_TEST_CASE(port_is_optional)
{
    for (const char *text : {"10.1.2.3", "2001:db8::5", "::"}) {
        auto address = Address::parse(text);
        BOOST_REQUIRE_MESSAGE(address, text);
        BOOST_TEST(address->port == 0);
        BOOST_TEST(address->ip_string() == text);
    }
}

BOOST_AUTO_TEST_CASE(v4_is_mapped)
{
    auto address = Address::parse("10.1.2.3:5");
    std::array<std::uint8_t, 16> expected{0, 0, 0,    0,    0,  0, 0, 0,
                                          0, 0, 0xff, 0xff, 10, 1, 2, 3};

    BOOST_REQUIRE(address);
    BOOST_TEST(address->ip == expected);
    BOOST_TEST(address->is_v4());
    BOOST_TEST(!Address::parse("::1")->is_v4());
    // The mapped form and the plain one are the same address.
    BOOST_CHECK(*Address::parse("[::ffff:10.1.2.3]:5") == *address);
}

BOOST_AUTO_TEST_CASE(unspecified)
{
    BOOST_TEST(Address::parse("0.0.0.0:1")->is_unspecified());
    BOOST_TEST(Address::parse("::")->is_unspecified());
    BOOST_TEST(!Address::parse("0.0.0.1")->is_unspecified());
    BOOST_TEST(!Address::parse("::1")->is_unspecified());
}

BOOST_AUTO_TEST_CASE(rejects_everything_else)
{
    using namespace std::string_view_literals;

    for (auto text : {""sv,
                      ":"sv,
                      "localhost:1"sv,
                      "1.2.3:4"sv,
                      "1.2.3.4.5"sv,
                      "256.0.0.1"sv,
                      "1.2.3.4:"sv,
                      "1.2.3.4:65536"sv,
                      "1.2.3.4:-1"sv,
                      "1.2.3.4:01"sv,
                      "1.2.3.4:1x"sv,
                      " 1.2.3.4"sv,
                      "1.2.3.4 "sv,
                      "[1.2.3.4]:5"sv,
                      "[::1]"sv,
                      "[::1"sv,
                      "[::1]:"sv,
                      "::1]:5"sv,
                      "fe80::1%lo"sv,
                      "1.2.3.4:+5"sv,
                      "1.2.3.4\0:5"sv,
                      "::1\0x"sv}) {
        BOOST_TEST(!Address::parse(text), "accepted '" << text << "'");
    }
}

BOOST_AUTO_TEST_SUITE_END()
