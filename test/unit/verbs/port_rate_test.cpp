// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port_rate.hpp"

#include <boost/test/unit_test.hpp>

using be::verbs::port_rate;

BOOST_AUTO_TEST_SUITE(rate)

// Bytes per second of the links one meets.
BOOST_AUTO_TEST_CASE(known_links)
{
    BOOST_TEST(port_rate(1, 2) == 1e9); // SDR 4x
    BOOST_TEST(port_rate(4, 2) == 4e9); // QDR 4x
    BOOST_TEST(port_rate(16, 2) == 6.818e9, boost::test_tools::tolerance(1e-3)); // FDR 4x
    BOOST_TEST(port_rate(32, 1) == 3.125e9); // 25 GbE
    BOOST_TEST(port_rate(32, 2) == 12.5e9); // EDR 4x
    BOOST_TEST(port_rate(64, 16) == 12.5e9); // HDR100 2x
    BOOST_TEST(port_rate(64, 2) == 25e9); // HDR 4x
    BOOST_TEST(port_rate(128, 2) == 50e9); // NDR 4x
}

BOOST_AUTO_TEST_CASE(unknown_codes_give_zero)
{
    BOOST_TEST(port_rate(0, 2) == 0);
    BOOST_TEST(port_rate(3, 2) == 0);
    BOOST_TEST(port_rate(32, 0) == 0);
    BOOST_TEST(port_rate(32, 3) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
