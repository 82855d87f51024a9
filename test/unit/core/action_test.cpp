// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include <array>

#include "core/action.hpp"

using namespace be::core;

BOOST_AUTO_TEST_SUITE(action)

BOOST_AUTO_TEST_CASE(push_until_full)
{
    std::array<Action, 2> storage;
    Actions actions(storage);
    const Action first{Action::write_cell, 1, 10}, second{Action::resume, 2, 0};

    BOOST_TEST(!actions.full());
    BOOST_TEST(actions.push(first));
    BOOST_TEST(actions.push(second));
    BOOST_TEST(actions.full());
    BOOST_TEST(!actions.push(first));
    BOOST_TEST(actions.size() == 2u);
    BOOST_TEST((*actions.begin() == first));
    BOOST_TEST((*(actions.end() - 1) == second));

    actions.clear();
    BOOST_TEST(actions.size() == 0u);
    BOOST_TEST((actions.begin() == actions.end()));
    BOOST_TEST(actions.push(second));
}

BOOST_AUTO_TEST_CASE(no_storage_is_always_full)
{
    Actions actions({});

    BOOST_TEST(actions.full());
    BOOST_TEST(!actions.push({Action::resume, 0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
