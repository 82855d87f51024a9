// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_info's judgement of what it found, and its three forms of output.
 */
#define BOOST_TEST_MODULE be_info
#include <boost/test/unit_test.hpp>

#include "tools/info/print.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>

using namespace be::tools;

namespace {

be::verbs::PortReport port(const char *device, uint8_t number, bool usable)
{
    be::verbs::PortReport report;
    report.device     = device;
    report.port       = number;
    report.state      = usable ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    report.link_layer = be::verbs::LinkLayer::ethernet;
    report.netdev     = "eth2";
    report.rate       = 12.5e9;
    report.numa_node  = 1;
    report.usable     = usable;
    report.reason     = usable ? "it is active" : "its state is down";
    return report;
}

Report two_ports()
{
    Report report;
    report.package_version = "0.1.0";
    report.built_for       = "1.13.1";
    report.ucx             = UcxLibrary{{1, 13, 1}, "/lib/libucp.so.0"};
    report.modules         = "/lib/ucx";
    report.devices.ports   = {port("mlx5_0", 1, false), port("mlx5_1", 2, true)};
    report.devices.reason  = "hardware";
    return report;
}

bool contains(const std::string &text, const std::string &part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(release_matches_in_major_and_minor)
{
    Report report = two_ports();
    BOOST_TEST(report.ucx_matches());
    report.ucx->version = {1, 13, 0};
    BOOST_TEST(report.ucx_matches());
    report.ucx->version = {1, 1, 3};
    BOOST_TEST(!report.ucx_matches());
    report.ucx->version = {1, 14, 1};
    BOOST_TEST(!report.ucx_matches());
    BOOST_TEST(contains(to_text(report), "built for 1.13.1 and stays out of any other"));
    report.ucx.reset();
    report.ucx_problem = "UCX not found: reason";
    BOOST_TEST(!report.ucx_matches());
    BOOST_TEST(contains(to_text(report), "UCX not found: reason"));
}

BOOST_AUTO_TEST_CASE(first_usable_port_is_used)
{
    Report report = two_ports();
    BOOST_REQUIRE(report.used_port() != nullptr);
    BOOST_TEST(report.used_port()->device == "mlx5_1");
    BOOST_TEST(used_line(report) == "mlx5_1:2\teth2\thardware\thardware\n");

    report.devices.ports.pop_back();
    BOOST_TEST(report.used_port() == nullptr);
    BOOST_TEST(used_line(report).empty());
}

BOOST_AUTO_TEST_CASE(text_tells_why_of_every_port)
{
    const std::string text = to_text(two_ports());
    BOOST_TEST(contains(text, "mlx5_0:1"));
    BOOST_TEST(contains(text, "its state is down"));
    BOOST_TEST(contains(text, "it is active"));
    BOOST_TEST(contains(text, "100 Gb/s"));
    BOOST_TEST(contains(text, "LD_PRELOAD=/lib/ucx/libbe_preload.so"));
}

BOOST_AUTO_TEST_CASE(new_ucx_is_told_of_the_plugin_path)
{
    Report report       = two_ports();
    report.ucx->version = {1, 22, 0};
    report.built_for    = "1.22.0";
    BOOST_TEST(contains(to_text(report), "UCX_PLUGIN_PATH=/lib/ucx "));
}

BOOST_AUTO_TEST_CASE(missing_modules_are_reported)
{
    Report report = two_ports();
    report.modules.clear();
    report.modules_problem = "libuct_be.so.0 not found; tried /a";
    BOOST_TEST(contains(to_text(report), "libuct_be.so.0 not found; tried /a"));
    BOOST_TEST(!contains(to_text(report), "LD_PRELOAD"));
}

BOOST_AUTO_TEST_CASE(json_holds_every_port)
{
    const auto object = nlohmann::json::parse(to_json(two_ports()));
    BOOST_TEST(object["schema_version"] == 1);
    BOOST_TEST(object["ucx"]["matches"] == true);
    BOOST_REQUIRE(object["ports"].size() == 2);
    BOOST_TEST(object["ports"][0]["used"] == false);
    BOOST_TEST(object["ports"][1]["device"] == "mlx5_1");
    BOOST_TEST(object["ports"][1]["rate_bytes_per_second"] == 12.5e9);
}

BOOST_AUTO_TEST_CASE(soft_mode_is_read_as_ucx_does)
{
    BOOST_TEST((parse_soft_mode("auto") == be::verbs::SoftMode::automatic));
    BOOST_TEST((parse_soft_mode("YES") == be::verbs::SoftMode::yes));
    BOOST_TEST((parse_soft_mode("no") == be::verbs::SoftMode::no));
    BOOST_CHECK_EXCEPTION(parse_soft_mode("maybe"), std::invalid_argument,
                          [](const std::invalid_argument &error) {
                              return contains(error.what(), "UCX_BE_SOFT=maybe") &&
                                     contains(error.what(), "auto, yes and no");
                          });
}
