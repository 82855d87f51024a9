// SPDX-License-Identifier: BSD-3-Clause

#include "control/codec.hpp"
#include "control/frame.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

using namespace be::control;
using namespace be::control::test;

namespace {

bool is_error(std::span<const std::uint8_t> frame)
{
    return std::holds_alternative<DecodeError>(decode(frame));
}

// The frame without its length, aligned as decode() wants it.
std::vector<std::uint8_t> body_of(const Message &message)
{
    auto bytes = encoded(message);
    return {bytes.begin() + frame_header_size, bytes.end()};
}

template<class T>
T round_trip(const T &message)
{
    auto result = decoded(encoded(message));
    BOOST_REQUIRE_EQUAL(result.size(), 1u);
    return std::get<T>(result[0]);
}

std::string problem_of(const Message &message)
{
    auto body   = body_of(message);
    auto result = decode(body);
    auto *error = std::get_if<DecodeError>(&result);
    return (error == nullptr) ? std::string() : error->text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(codec)

BOOST_AUTO_TEST_CASE(every_kind_survives)
{
    for (const auto &message : sample_messages()) {
        auto result = decoded(encoded(message));
        BOOST_REQUIRE_EQUAL(result.size(), 1u);
        BOOST_TEST(result[0].index() == message.index());
    }
}

BOOST_AUTO_TEST_CASE(handshake_fields_survive)
{
    Offer offer{0x1234, 0xfedc, 0x0123456789abcdef, random_nonce()};
    Hello hello{offer, 5, 6, Proof{9, 8, 7}};

    BOOST_CHECK(round_trip(Challenge{offer}).offer == offer);

    auto back = round_trip(hello);
    BOOST_CHECK(back.offer == offer);
    BOOST_TEST(back.from_fabric == 5u);
    BOOST_TEST(back.to_fabric == 6u);
    BOOST_CHECK(back.proof == hello.proof);

    auto welcome = round_trip(Welcome{77, 1ull << 63, Proof{1}});
    BOOST_TEST(welcome.minor == 77u);
    BOOST_TEST(welcome.features == 1ull << 63);
    BOOST_CHECK(welcome.proof == Proof{1});

    BOOST_TEST(round_trip(Ping{1ull << 40}).value == 1ull << 40);
    BOOST_TEST(round_trip(Pong{3}).value == 3u);
    BOOST_TEST(round_trip(Probe{1ull << 63}).to_fabric == 1ull << 63);
}

BOOST_AUTO_TEST_CASE(connect_info_survives)
{
    auto info = sample_info(42);

    BOOST_CHECK(round_trip(Connect{info}).info == info);
    BOOST_CHECK(round_trip(Accept{info}).info == info);

    info.qps.assign(max_queue_pairs, {1, 2});
    BOOST_CHECK(round_trip(Connect{info}).info == info);
}

BOOST_AUTO_TEST_CASE(recovery_survives)
{
    auto info = sample_recovery(42);
    BOOST_CHECK(round_trip(Recover{info}).info == info);
    BOOST_TEST(round_trip(Recovered{0xffffffff}).epoch == 0xffffffffu);

    info.path = path_tcp;
    info.connect.qps.clear();
    info.connect.resume = true;
    BOOST_CHECK(round_trip(Recover{info}).info == info);
}

BOOST_AUTO_TEST_CASE(refuse_text_is_tamed)
{
    auto back = round_trip(Refuse{Reason::version, "a\nb\x1b[31m\xff"});
    BOOST_TEST(back.text == "a?b?[31m?");
    BOOST_CHECK(back.reason == Reason::version);

    BOOST_TEST(round_trip(Refuse{Reason::refused, std::string(5000, 'x')}).text ==
               std::string(max_text, 'x'));
}

BOOST_AUTO_TEST_CASE(refuse_reason_of_others)
{
    // Only what a peer can know is believed.
    for (auto reason : {Reason::local, Reason::closed_by_peer, Reason::unreachable,
                        Reason::goodbye, static_cast<Reason>(200)}) {
        BOOST_CHECK(round_trip(Refuse{reason, ""}).reason == Reason::refused);
    }
    BOOST_CHECK(round_trip(Refuse{Reason::duplicate, ""}).reason == Reason::duplicate);
}

BOOST_AUTO_TEST_CASE(reasons_have_names)
{
    std::set<std::string> names;

    for (std::size_t i = 0; i < reason_count; ++i) {
        names.insert(to_string(static_cast<Reason>(i)));
    }
    BOOST_TEST(names.size() == reason_count);
    BOOST_TEST(!names.contains(to_string(static_cast<Reason>(reason_count))));
}

BOOST_AUTO_TEST_CASE(out_of_range_fields_are_named)
{
    const std::vector<std::pair<const char *, std::function<void(ConnectInfo &)>>> cases =
            {
                    {"fabric_id is 0", [](auto &i) { i.fabric_id = 0; }},
                    {"number of queue pairs is 0", [](auto &i) { i.qps.clear(); }},
                    {"number of queue pairs is 65",
                     [](auto &i) {
                         i.qps.resize(65, {1, 1});
                     }},
                    {"number of queue pairs is 65",
                     [](auto &i) {
                         i.qps.resize(4000, {1, 1});
                     }},
                    {"qps[1].qpn is 16777216", [](auto &i) { i.qps[1].qpn = 1 << 24; }},
                    {"qps[2].psn is 16777216", [](auto &i) { i.qps[2].psn = 1 << 24; }},
                    {"link_layer is 3", [](auto &i) { i.link_layer = 3; }},
                    {"mtu is 0", [](auto &i) { i.mtu = 0; }},
                    {"mtu is 6", [](auto &i) { i.mtu = 6; }},
                    {"segment_size is 0", [](auto &i) { i.segment_size = 0; }},
                    {"control.port is 0", [](auto &i) { i.control.port = 0; }},
                    {"session is 0",
                     [](auto &i) {
                         i.session = 0;
                         i.resume  = true;
                     }},
            };

    BOOST_TEST(problem_of(Connect{sample_info(1)}) == "");
    for (const auto &[expected, spoil] : cases) {
        auto info = sample_info(1);
        spoil(info);
        auto in_recover    = sample_recovery(1);
        in_recover.connect = info;
        for (const Message &message : {Message(Connect{info}), Message(Accept{info}),
                                       Message(Recover{in_recover})}) {
            auto problem = problem_of(message);
            BOOST_TEST(problem.find(expected) != std::string::npos,
                       "'" << problem << "' does not say: " << expected);
            BOOST_TEST(problem.find(name_of(message)) == 0u);
        }
    }

    auto recovery = sample_recovery(1);
    recovery.path = 2;
    BOOST_TEST(problem_of(Recover{recovery}).find("path is 2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(truncation_is_an_error_or_harmless)
{
    for (const auto &message : sample_messages()) {
        auto body = body_of(message);
        for (std::size_t size = 0; size < body.size(); ++size) {
            // An exact copy, so that a read past the end is caught by sanitizers.
            std::vector<std::uint8_t> cut(body.begin(), body.begin() + size);
            BOOST_TEST(is_error(cut), name_of(message) << " cut to " << size);
        }
    }
}

BOOST_AUTO_TEST_CASE(damage_never_crashes)
{
    std::mt19937 random(20240229);
    std::size_t accepted = 0;
    std::size_t rejected = 0;

    for (int round = 0; round < 2000; ++round) {
        for (const auto &message : sample_messages()) {
            auto body = body_of(message);
            for (unsigned i = 0, n = 1 + random() % 4; i < n; ++i) {
                body[random() % body.size()] = static_cast<std::uint8_t>(random());
            }
            (is_error(body) ? rejected : accepted)++;
        }
    }
    // Damage in a value passes, damage in the structure does not.
    BOOST_TEST(accepted > 1000u);
    BOOST_TEST(rejected > 1000u);
}

BOOST_AUTO_TEST_CASE(random_bytes_are_an_error)
{
    std::mt19937 random(7);

    for (int round = 0; round < 10000; ++round) {
        std::vector<std::uint8_t> bytes(min_frame + random() % 200);
        for (auto &byte : bytes) {
            byte = static_cast<std::uint8_t>(random());
        }
        BOOST_TEST(is_error(bytes));
    }
}

BOOST_AUTO_TEST_CASE(wrong_magic)
{
    for (const Message &message :
         {Message(Challenge{}), Message(Hello{}), Message(Probe{})}) {
        auto body = body_of(message);
        std::string magic("BYTEXPRS");
        auto found = std::search(body.begin(), body.end(), magic.begin(), magic.end());
        BOOST_REQUIRE(found != body.end());
        *found = 'b';
        BOOST_TEST(is_error(body));
    }
}

BOOST_AUTO_TEST_CASE(unknown_kind_of_message)
{
    auto body = body_of(Goodbye{});
    // The kind is the only byte with this value in a Goodbye.
    auto kind    = static_cast<std::uint8_t>(Message(Goodbye{}).index() + 1);
    auto unknown = static_cast<std::uint8_t>(std::variant_size_v<Message> + 1);
    BOOST_REQUIRE_EQUAL(std::count(body.begin(), body.end(), kind), 1);
    *std::find(body.begin(), body.end(), kind) = unknown;

    auto result = decode(body);
    BOOST_REQUIRE(std::holds_alternative<DecodeError>(result));
    BOOST_TEST(std::get<DecodeError>(result).text.find("message kind " +
                                                       std::to_string(unknown)) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
