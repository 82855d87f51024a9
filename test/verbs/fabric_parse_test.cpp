// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric's settings as they are written.
#include <boost/test/unit_test.hpp>

#include "softrdma/fabric_settings.h"
#include "softrdma/key_values.h"

using namespace softrdma;

namespace {

std::string refusal(const std::string &text)
{
    fabric_settings result;
    std::string error;
    return parse_fabric(split(text, ','), result, error) ? "" : error;
}

fabric_settings read(const std::string &text, fabric_settings result = {})
{
    std::string error;
    BOOST_REQUIRE_MESSAGE(parse_fabric(split(text, ','), result, error), error);
    return result;
}

bool mentions(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(fabric_parse)

BOOST_AUTO_TEST_CASE(settings)
{
    fabric_settings all = read("rate=10G,delay=2us,jitter=1us,loss=1%,reorder=0.001,"
                               "buffer=256K,xoff=128K,xon=64K");
    BOOST_TEST(all.rate == 10'000'000'000u);
    BOOST_TEST(all.delay_ns == 2000u);
    BOOST_TEST(all.jitter_ns == 1000u);
    BOOST_TEST(all.loss == 0.01);
    BOOST_TEST(all.reorder == 0.001);
    BOOST_TEST(all.buffer == 262144u);
    BOOST_TEST(all.pfc);
    BOOST_TEST(all.xoff == 131072u);
    BOOST_TEST(all.xon == 65536u);
    BOOST_TEST(!all.idle());
    BOOST_TEST(read("off", all).idle());
}

BOOST_AUTO_TEST_CASE(thresholds_follow_the_buffer)
{
    fabric_settings first = read("rate=10G,buffer=256K");
    BOOST_TEST(first.xoff == 131072u);
    BOOST_TEST(first.xon == 65536u);
    BOOST_TEST(read("buffer=128K", first).xoff == 65536u);
    BOOST_TEST(read("delay=1us", first).xoff == 131072u); // the rest stays
    BOOST_TEST(read("pfc=off", first).xoff == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_written_can_be_read_again)
{
    for (const char *text :
         {"rate=10G,delay=2us,jitter=1us,loss=1%,reorder=0.001,buffer=256K", "delay=3us",
          "rate=2.5G,buffer=64K,pfc=off", "off"}) {
        fabric_settings once = read(text);
        BOOST_TEST(to_string(read(to_string(once))) == to_string(once));
    }
    BOOST_TEST(to_string({}) == "off");
}

BOOST_AUTO_TEST_CASE(shared_settings_are_what_was_stored)
{
    shared_fabric_settings shared;
    shared.store(read("rate=10G,loss=1%,buffer=256K,pfc=off"));
    BOOST_TEST(to_string(shared.load()) ==
               to_string(read("rate=10G,loss=1%,buffer=256K,pfc=off")));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named)
{
    BOOST_TEST(mentions(refusal("rate=fast"), "rate=fast: expected bits per second"));
    BOOST_TEST(mentions(refusal("delay=2"), "delay=2: expected a time"));
    BOOST_TEST(mentions(refusal("loss=2"), "loss=2: expected a share"));
    BOOST_TEST(mentions(refusal("pfc=maybe"), "pfc=maybe: expected on or off"));
    BOOST_TEST(mentions(refusal("speed=1G"), "\"speed\": expected off, or KEY=VALUE"));
    BOOST_TEST(mentions(refusal("buffer=256K"), "expected rate=BITS as well"));
    BOOST_TEST(mentions(refusal("rate=1G,buffer=1K"), "expected at least 16384"));
    BOOST_TEST(mentions(refusal("rate=1G,xoff=1K"), "expected buffer=BYTES as well"));
    BOOST_TEST(
            mentions(refusal("rate=1G,buffer=64K,xoff=32K,xon=32K"), "xon below xoff"));
    BOOST_TEST(mentions(refusal("rate=1G,buffer=64K,xoff=65K"), "not above the buffer"));
    BOOST_TEST(mentions(refusal(""), "nothing is set"));
}

BOOST_AUTO_TEST_SUITE_END()
