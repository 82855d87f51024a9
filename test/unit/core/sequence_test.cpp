// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include "core/sequence.hpp"

using namespace be::core;

BOOST_AUTO_TEST_SUITE(sequence)

BOOST_AUTO_TEST_CASE(numbers_are_consecutive_across_the_wrap)
{
    SendSequence sequence(0xfffffffe);

    BOOST_TEST(sequence.next() == 0xfffffffeu);
    BOOST_TEST(sequence.take() == 0xfffffffeu);
    BOOST_TEST(sequence.take() == 0xffffffffu);
    BOOST_TEST(sequence.take() == 0u);
    BOOST_TEST(sequence.next() == 1u);
    BOOST_TEST(sequence.taken() == 3u);
    BOOST_TEST(sequence.unacknowledged() == 3u);
}

BOOST_AUTO_TEST_CASE(acknowledge_in_any_order)
{
    SendSequence sequence(0xfffffffe);

    for (int i = 0; i < 5; ++i) {
        sequence.take();
    }

    BOOST_TEST(sequence.acknowledge(0) == 2u); /* two at once, over the wrap */
    BOOST_TEST(sequence.acknowledge(0xffffffff) == 0u); /* late: changes nothing */
    BOOST_TEST(sequence.acknowledge(0) == 0u); /* again */
    BOOST_TEST(sequence.acknowledge(4) == 0u); /* never sent */
    BOOST_TEST(sequence.acknowledged() == 0u);
    BOOST_TEST(sequence.acknowledge(3) == 3u);
    BOOST_TEST(sequence.unacknowledged() == 0u);
}

BOOST_AUTO_TEST_CASE(receive_in_order_duplicate_and_gap)
{
    ReceiveSequence sequence(0xffffffff);

    BOOST_TEST((sequence.accept(0xffffffff) == SequenceVerdict::in_order));
    BOOST_TEST((sequence.accept(1) == SequenceVerdict::gap)); /* 0 is missing */
    BOOST_TEST((sequence.accept(0) == SequenceVerdict::in_order));
    BOOST_TEST((sequence.accept(0) == SequenceVerdict::duplicate));
    BOOST_TEST((sequence.accept(0xffffffff) == SequenceVerdict::duplicate));
    BOOST_TEST(sequence.expected() == 1u); /* neither gap nor duplicate moved it */
    BOOST_TEST((sequence.accept(1) == SequenceVerdict::in_order));
}

/* Sender and receiver after a break: what is replayed and was there is dropped. */
BOOST_AUTO_TEST_CASE(replay_is_delivered_once)
{
    SendSequence sender(10);
    ReceiveSequence receiver(10);
    int delivered = 0;

    for (int i = 0; i < 6; ++i) {
        uint32_t seq = sender.take();

        if (i < 4) { /* the last two are lost */
            delivered += (receiver.accept(seq) == SequenceVerdict::in_order);
        }
    }
    sender.acknowledge(12); /* the acknowledgements of 12 and 13 are lost */
    for (uint32_t seq = sender.acknowledged(); seq != sender.next(); ++seq) {
        delivered += (receiver.accept(seq) == SequenceVerdict::in_order);
    }
    BOOST_TEST(delivered == 6);
}

BOOST_AUTO_TEST_SUITE_END()
