// SPDX-License-Identifier: BSD-3-Clause

#include "control/auth.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <set>
#include <vector>

using namespace be::control;

namespace {

struct Initialized {
    Initialized()
    {
        initialize_auth();
    }
};

Transcript sample()
{
    Transcript transcript;

    transcript.server      = {1, 2, 3, random_nonce()};
    transcript.client      = {4, 5, 6, random_nonce()};
    transcript.from_fabric = 7;
    transcript.to_fabric   = 8;
    return transcript;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(auth, Initialized)

// The value is fixed by the protocol: another implementation, or another release,
// must come to the same. Computed independently with Python's
// hashlib.blake2b(digest_size=32, key=...).
BOOST_AUTO_TEST_CASE(known_answer)
{
    Token token;
    Transcript transcript;

    for (std::size_t i = 0; i < token.size(); ++i) {
        token[i] = static_cast<std::uint8_t>(i);
    }
    transcript.server = {1, 0, 0, {}};
    transcript.client = {1, 0, 5, {}};
    transcript.server.nonce.fill(0x11);
    transcript.client.nonce.fill(0x22);
    transcript.from_fabric     = 0x0102030405060708;
    transcript.to_fabric       = 0x1112131415161718;
    transcript.agreed_features = 4;

    Proof expected{0x7d, 0x87, 0xf9, 0xfc, 0x5c, 0xe7, 0xcb, 0x9a, 0x04, 0x62, 0xba,
                   0x9d, 0x9b, 0x16, 0x12, 0x5f, 0x94, 0x96, 0x3f, 0x03, 0x5a, 0x0e,
                   0xdd, 0xf6, 0x95, 0xc4, 0xbe, 0xfe, 0x49, 0x5d, 0x09, 0xdc};
    BOOST_TEST(prove(token, transcript, Prover::server) == expected);
}

BOOST_AUTO_TEST_CASE(depends_on_everything)
{
    auto token = random_token();
    auto base  = sample();
    auto proof = prove(token, base, Prover::client);

    BOOST_TEST(same_proof(proof, prove(token, base, Prover::client)));
    BOOST_TEST(!same_proof(proof, prove(token, base, Prover::server)));
    BOOST_TEST(!same_proof(proof, prove(random_token(), base, Prover::client)));

    std::vector<std::function<void(Transcript &)>> changes;
    for (auto end : {&Transcript::server, &Transcript::client}) {
        changes.push_back([end](Transcript &t) { ++(t.*end).major; });
        changes.push_back([end](Transcript &t) { ++(t.*end).minor; });
        changes.push_back([end](Transcript &t) { (t.*end).features ^= 1ull << 63; });
        changes.push_back([end](Transcript &t) { (t.*end).nonce[31] ^= 1; });
    }
    changes.push_back([](Transcript &t) { ++t.from_fabric; });
    changes.push_back([](Transcript &t) { ++t.to_fabric; });
    changes.push_back([](Transcript &t) { ++t.agreed_features; });
    changes.push_back([](Transcript &t) { std::swap(t.server, t.client); });
    changes.push_back([](Transcript &t) { std::swap(t.from_fabric, t.to_fabric); });

    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto changed = base;
        changes[i](changed);
        BOOST_TEST(!same_proof(proof, prove(token, changed, Prover::client)),
                   "change " << i << " goes unnoticed");
    }
}

BOOST_AUTO_TEST_CASE(every_bit_counts)
{
    Proof a{};

    for (std::size_t bit = 0; bit < 8 * a.size(); ++bit) {
        auto b = a;
        b[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
        BOOST_TEST(!same_proof(a, b));
    }
    BOOST_TEST(same_proof(a, a));
}

BOOST_AUTO_TEST_CASE(random_values_differ)
{
    std::set<Token> tokens;
    std::set<Nonce> nonces;
    std::set<std::uint64_t> ids;
    constexpr std::size_t count = 1000;

    for (std::size_t i = 0; i < count; ++i) {
        tokens.insert(random_token());
        nonces.insert(random_nonce());
        ids.insert(random_fabric_id());
    }
    BOOST_TEST(tokens.size() == count);
    BOOST_TEST(nonces.size() == count);
    BOOST_TEST(ids.size() == count);
    BOOST_TEST(!ids.contains(0));
}

BOOST_AUTO_TEST_SUITE_END()
