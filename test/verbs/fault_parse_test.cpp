// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities and faults as they are written.
#include <boost/test/unit_test.hpp>

#include "softrdma/fault.h"
#include "softrdma/key_values.h"
#include "softrdma/quantity.h"
#include "softrdma/withheld.h"

using namespace softrdma;

namespace {

// The message for a fault that cannot be read, "" for one that can.
std::string refusal(const std::string &text)
{
    fault result;
    std::string error;
    return parse_fault(split(text, ' '), result, error) ? "" : error;
}

fault read(const std::string &text)
{
    fault result;
    std::string error;
    BOOST_REQUIRE_MESSAGE(parse_fault(split(text, ' '), result, error), error);
    return result;
}

bool mentions(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(fault_parse)

BOOST_AUTO_TEST_CASE(durations)
{
    BOOST_TEST(parse_duration("0").value() == 0u);
    BOOST_TEST(parse_duration("500ns").value() == 500u);
    BOOST_TEST(parse_duration("1.5us").value() == 1500u);
    BOOST_TEST(parse_duration("20ms").value() == 20'000'000u);
    BOOST_TEST(parse_duration("2s").value() == 2'000'000'000u);
    for (const char *text : {"", "5", "-1s", "1 s", "s", "1h", "1e3s", "2sx", "1e400s",
                             "100000s", "nan", "infs", "0x1s"}) {
        BOOST_TEST(!parse_duration(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(rates_sizes_shares)
{
    BOOST_TEST(parse_rate("10G").value() == 10'000'000'000u);
    BOOST_TEST(parse_rate("2.5G").value() == 2'500'000'000u);
    BOOST_TEST(!parse_rate("0G").has_value());
    BOOST_TEST(!parse_rate("10").has_value());
    BOOST_TEST(!parse_rate("2000G").has_value());
    BOOST_TEST(parse_bytes("256K").value() == 262144u);
    BOOST_TEST(parse_bytes("9000").value() == 9000u);
    BOOST_TEST(!parse_bytes("2G").has_value());
    BOOST_TEST(parse_probability("1%").value() == 0.01);
    BOOST_TEST(parse_probability("0.5").value() == 0.5);
    BOOST_TEST(!parse_probability("101%").has_value());
    BOOST_TEST(parse_count("7").value() == 7u);
    BOOST_TEST(!parse_count("0").has_value());
    BOOST_TEST(!parse_count("7x").has_value());
    BOOST_TEST(!parse_count("99999999999999999999").has_value());
}

BOOST_AUTO_TEST_CASE(faults)
{
    fault down = read("link-down for=200ms after=1s device=softrdma1");
    BOOST_TEST((down.kind == fault_kind::link_down));
    BOOST_TEST(down.for_ns == 200'000'000u);
    BOOST_TEST(down.after_ns == 1'000'000'000u);
    BOOST_TEST(down.device == 1u);
    BOOST_TEST(read("link-down").device == any_device);
    BOOST_TEST(read("qp-error qpn=16385").qpn == 16385u);
    BOOST_TEST(read("qp-error qpn=all").qpn == 0u);
    BOOST_TEST(read("bit-flip").count == 1);
    BOOST_TEST(read("bit-flip for=1s").count == -1);
    BOOST_TEST(read("no-receives").count == -1);
    BOOST_TEST(read("completion-delay delay=1ms").amount_ns == 1'000'000u);
}

BOOST_AUTO_TEST_CASE(a_wrong_fault_names_what_is_wrong)
{
    BOOST_TEST(mentions(refusal("flood"), "\"flood\": expected one of qp-error"));
    BOOST_TEST(mentions(refusal(""), "expected one of qp-error"));
    BOOST_TEST(mentions(refusal("link-down for=5"), "for=5: expected a time"));
    BOOST_TEST(mentions(refusal("link-down qpn=5"), "\"qpn=5\": expected KEY=VALUE"));
    BOOST_TEST(
            mentions(refusal("qp-error qpn=99999999"), "expected a queue pair number"));
    BOOST_TEST(mentions(refusal("stall"), "stall: expected for="));
    BOOST_TEST(
            mentions(refusal("bit-flip count=-1"), "count=-1: expected a whole number"));
    BOOST_TEST(mentions(refusal("link-up device=mlx5_0"), "expected softrdma0"));
    BOOST_TEST(mentions(refusal("link-up device=softrdma8"), "expected softrdma0"));
}

BOOST_AUTO_TEST_CASE(several_faults)
{
    std::vector<fault> list;
    std::string error;
    BOOST_TEST(parse_faults("link-down,after=1s,for=1ms;qp-error,after=2s", list, error));
    BOOST_REQUIRE_EQUAL(list.size(), 2u);
    BOOST_TEST(list[0].for_ns == 1'000'000u);
    BOOST_TEST((list[1].kind == fault_kind::qp_error));
    BOOST_TEST(!parse_faults("link-down;nonsense", list, error));
    BOOST_TEST(mentions(error, "nonsense"));
}

BOOST_AUTO_TEST_CASE(completions_are_withheld_from_when_they_were_seen)
{
    withheld_completions held;
    constexpr uint32_t start = UINT32_MAX - 1; // positions wrap
    BOOST_TEST(held.due(start) == 0u);
    BOOST_TEST(held.note(start, start + 1, 100));
    BOOST_TEST(!held.note(start, start + 1, 150)); // nothing new
    BOOST_TEST(held.note(start, start + 3, 200));
    BOOST_TEST(held.due(start) == 100u);
    BOOST_TEST(held.due(start + 1) == 200u);
    BOOST_TEST(held.due(start + 2) == 200u);
    BOOST_TEST(held.due(start + 3) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
