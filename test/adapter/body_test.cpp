// SPDX-License-Identifier: BSD-3-Clause
#include <byteexpress/body.hpp>

#include <boost/test/unit_test.hpp>

namespace be {

BOOST_AUTO_TEST_SUITE(bodies)

BOOST_AUTO_TEST_CASE(nothing_is_nothing)
{
    Body body;
    BOOST_TEST(body.empty());
    BOOST_TEST(body.parts().empty());
    BOOST_TEST(body.bytes().empty());
    BOOST_TEST(body.flat().empty());
    body.append(Body::copy(""));
    BOOST_TEST(body.parts().empty());
    BOOST_TEST(!Body::borrow({}).borrowed());
}

BOOST_AUTO_TEST_CASE(pieces_stay_in_order_and_are_not_copied)
{
    const std::string text = "middle";
    Body body              = Body::copy("first ");
    body.append(Body::borrow(std::as_bytes(std::span(text))));
    body.append(Body::take(std::string(" last")));
    BOOST_TEST(body.size() == 17u);
    BOOST_TEST(body.parts().size() == 3u);
    BOOST_TEST(body.parts()[1].iov_base == static_cast<const void *>(text.data()));
    BOOST_TEST(body.borrowed());
    BOOST_CHECK_THROW(body.bytes(), std::logic_error);
    BOOST_TEST(body.flat().text() == "first middle last");
    BOOST_TEST(!body.flat().borrowed());
}

BOOST_AUTO_TEST_CASE(a_body_can_be_appended_to_itself)
{
    Body body = Body::copy("ab");
    body.append(body);
    body.append(body);
    BOOST_TEST(body.parts().size() == 4u);
    BOOST_TEST(body.flat().text() == "abababab");
}

BOOST_AUTO_TEST_CASE(memory_lives_as_long_as_somebody_refers_to_it)
{
    const auto owner = std::make_shared<std::string>("0123456789");
    Body part(owner, std::as_bytes(std::span(*owner)).subspan(2, 3));
    {
        Body all;
        all.append(part);
        all.append(part);
        BOOST_TEST(owner.use_count() == 4);
    }
    Body moved(std::move(part));
    BOOST_TEST(part.empty());
    BOOST_TEST(part.parts().empty());
    BOOST_TEST(moved.text() == "234");
    BOOST_TEST(owner.use_count() == 2);
    moved = Body();
    BOOST_TEST(owner.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_chain_is_a_body_without_a_copy)
{
    std::string text = "0123456789";
    bool released    = false;
    Body body;
    {
        Chain chain(Buffer::adopt(text.data(), 4, [&](void *) { released = true; }));
        chain.append(Buffer::borrow(text.data() + 6, 2));
        body = Body(chain);
    }
    BOOST_TEST(!released);
    BOOST_TEST(body.parts().size() == 2u);
    BOOST_TEST(body.parts()[0].iov_base == static_cast<const void *>(text.data()));
    BOOST_TEST(body.flat().text() == "012367");
    body = Body();
    BOOST_TEST(released);
    BOOST_TEST(Body(Chain()).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be
