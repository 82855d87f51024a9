// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include "core/credit_account.hpp"

using be::core::CreditAccount;

namespace {

void take(CreditAccount &account, uint32_t count)
{
    BOOST_REQUIRE(account.take(count));
}

} // namespace

BOOST_AUTO_TEST_SUITE(credit_account)

BOOST_AUTO_TEST_CASE(nothing_without_a_grant)
{
    CreditAccount account;

    BOOST_TEST(account.available() == 0u);
    BOOST_TEST(!account.take());
    BOOST_TEST(account.used() == 0u);
}

BOOST_AUTO_TEST_CASE(take_what_was_granted)
{
    CreditAccount account;

    BOOST_TEST(account.update(2));
    take(account, 2);
    BOOST_TEST(!account.take());
    account.untake();
    BOOST_TEST(account.available() == 1u);
    BOOST_TEST(!account.take(2)); /* all or nothing */
    BOOST_TEST(account.available() == 1u);
    BOOST_TEST(account.take());
}

BOOST_AUTO_TEST_CASE(updates_in_any_order)
{
    CreditAccount account;

    BOOST_TEST(account.update(5));
    BOOST_TEST(!account.update(5)); /* again */
    BOOST_TEST(!account.update(3)); /* late */
    BOOST_TEST(account.granted() == 5u);
    BOOST_TEST(account.update(6));
    BOOST_TEST(account.refused() == 0u);
}

BOOST_AUTO_TEST_CASE(implausible_updates_are_refused)
{
    constexpr uint32_t limit = CreditAccount::max_step;
    CreditAccount account(100);

    BOOST_TEST(!account.update(100 + limit + 1));
    BOOST_TEST(!account.update(100u + 0x7fffffff));
    BOOST_TEST(account.refused() == 2u);
    BOOST_TEST(account.granted() == 100u);
    BOOST_TEST(!account.update(100u + 0x80000000)); /* as far behind as can be */
    BOOST_TEST(account.refused() == 2u);
    BOOST_TEST(account.update(100 + limit));

    /* The limit is on what is held, or small steps would get around it. */
    BOOST_TEST(!account.update(100 + limit + 1));
    take(account, 5);
    BOOST_TEST(account.update(100 + limit + 5));
    BOOST_TEST(!account.update(100 + limit + 6));
    BOOST_TEST(account.refused() == 4u);
}

BOOST_AUTO_TEST_CASE(totals_wrap)
{
    CreditAccount account(0xfffffffe);

    BOOST_TEST(account.update(3));
    BOOST_TEST(account.available() == 5u);
    BOOST_TEST(!account.update(0xffffffff));
    take(account, 5);
    BOOST_TEST(account.used() == 3u);
    BOOST_TEST(!account.take());
    BOOST_TEST(account.start_request(4) == 7u);
}

BOOST_AUTO_TEST_CASE(one_request_at_a_time)
{
    CreditAccount account;

    BOOST_TEST(!account.request_due(0)); /* nothing to send */
    BOOST_TEST(account.request_due(3));
    BOOST_TEST(account.start_request(3) == 3u);
    BOOST_TEST(account.demand() == 3u);
    BOOST_TEST(account.request_outstanding());
    BOOST_TEST(!account.request_due(3));

    account.update(1);
    BOOST_TEST(!account.request_due(3)); /* there is credit */
    take(account, 1);
    BOOST_TEST(!account.request_due(2)); /* still asked */
    account.update(3);
    account.request_answered();
    BOOST_TEST(!account.request_due(2));
    take(account, 2);
    BOOST_TEST(account.request_due(9));
    BOOST_TEST(account.start_request(9) == 12u);
}

BOOST_AUTO_TEST_CASE(a_request_is_bounded)
{
    CreditAccount account;

    BOOST_TEST(account.start_request(0xffffffff) == CreditAccount::max_queued);
}

BOOST_AUTO_TEST_CASE(surplus_is_what_was_asked_for_and_not_used)
{
    CreditAccount account;

    account.update(2);
    take(account, 2);
    account.start_request(10);
    BOOST_TEST(account.surplus(0) == 0u); /* nothing came yet */
    account.update(6);
    BOOST_TEST(account.surplus(10) == 0u); /* all ten are queued still */
    BOOST_TEST(account.surplus(7) == 3u);
    BOOST_TEST(account.surplus(0) == 4u);

    /* The answer ends at 6: what comes later stands, it was not asked for. */
    account.request_answered();
    account.update(9);
    BOOST_TEST(account.surplus(0) == 4u);
    take(account, 4);
    BOOST_TEST(account.available() == 3u);
    BOOST_TEST(account.surplus(0) == 0u);
}

BOOST_AUTO_TEST_CASE(standing_credit_is_no_surplus)
{
    CreditAccount account;

    account.update(100);
    BOOST_TEST(account.surplus(0) == 0u);
    take(account, 40);
    BOOST_TEST(account.surplus(0) == 0u);
}

/* An old request must not look like a new one when totals have gone half around. */
BOOST_AUTO_TEST_CASE(surplus_survives_half_the_ring)
{
    CreditAccount account;

    account.start_request(1);
    account.update(1);
    account.request_answered();
    take(account, 1);
    for (uint32_t quarter = 0; quarter < 12; ++quarter) {
        BOOST_TEST(account.update(account.granted() + (1u << 30)));
        BOOST_TEST(account.surplus(0) == 0u);
        take(account, 1u << 30);
        BOOST_TEST(account.surplus(0) == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
