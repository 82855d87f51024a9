// SPDX-License-Identifier: BSD-3-Clause
//
// The messages of the exchange of addresses, and the proofs in them.
#include "adapter/exchange/message.hpp"
#include "adapter/exchange/secret.hpp"

#include <byteexpress/status.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

namespace be::adapter::exchange {

namespace {

const std::array<std::byte, 5> some_address = {std::byte{1}, std::byte{2}, std::byte{3},
                                               std::byte{4}, std::byte{5}};

Nonce nonce(unsigned char first)
{
    Nonce nonce;
    for (size_t i = 0; i < nonce.size(); i++) {
        nonce[i] = static_cast<std::byte>(first + i);
    }
    return nonce;
}

std::vector<Message> samples()
{
    return {{.kind = Kind::hello, .features = 5, .nonce = nonce(1)},
            {.kind         = Kind::challenge,
             .token_wanted = true,
             .features     = 4,
             .nonce        = nonce(2)},
            {.kind       = Kind::join,
             .proof      = nonce(3),
             .connection = 77,
             .turn       = 3,
             .address    = some_address},
            {.kind        = Kind::welcome,
             .proof       = nonce(4),
             .connection  = 78,
             .incarnation = 79,
             .window      = 80,
             .turn        = 4,
             .address     = some_address},
            {.kind = Kind::goodbye, .text = "enough"}};
}

// In memory of its own, so that a sanitizer sees reads beyond it.
bool decodes(std::span<const std::byte> bytes)
{
    if (bytes.size() < head_size) {
        return false;
    }
    const size_t size = bytes.size() - head_size;
    const auto rest   = std::make_unique_for_overwrite<std::byte[]>(size);
    const char *why   = nullptr;
    const auto head   = decode_head(bytes.first<head_size>(), &why);
    BOOST_REQUIRE_EQUAL(head.has_value(), why == nullptr);
    if (!head || (head->rest != size)) {
        return false;
    }
    std::copy_n(bytes.data() + head_size, size, rest.get());
    const auto message = decode_rest(head->kind, {rest.get(), size}, &why);
    BOOST_REQUIRE_EQUAL(message.has_value(), why == nullptr);
    return message.has_value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(exchange_messages)

BOOST_AUTO_TEST_CASE(what_is_written_is_read)
{
    for (const Message &sample : samples()) {
        const std::vector<std::byte> bytes = encode(sample);
        const std::span<const std::byte> all(bytes);
        const char *why = nullptr;
        const auto head = decode_head(all.first<head_size>(), &why);
        BOOST_REQUIRE(head);
        BOOST_TEST(head->rest == bytes.size() - head_size);
        const auto read = decode_rest(head->kind, all.subspan(head_size), &why);
        BOOST_REQUIRE(read);
        BOOST_TEST((read->kind == sample.kind));
        BOOST_TEST(read->token_wanted == sample.token_wanted);
        BOOST_TEST(read->features == sample.features);
        BOOST_TEST((read->nonce == sample.nonce));
        BOOST_TEST((read->proof == sample.proof));
        BOOST_TEST(read->connection == sample.connection);
        BOOST_TEST(read->incarnation == sample.incarnation);
        BOOST_TEST(read->window == sample.window);
        BOOST_TEST(read->turn == sample.turn);
        BOOST_TEST(std::ranges::equal(read->address, sample.address));
        BOOST_TEST(read->text == sample.text);
    }
}

BOOST_AUTO_TEST_CASE(sizes_are_limited)
{
    const std::vector<std::byte> large(max_rest, std::byte{1});
    const std::string text(5000, 'x');
    BOOST_TEST(encode({.kind = Kind::join, .connection = 1, .address = large}).empty());
    BOOST_TEST(encode({.kind = Kind::goodbye, .text = text}).size() ==
               head_size + max_farewell);

    std::vector<std::byte> bytes = encode({.kind = Kind::goodbye});
    const char *why              = nullptr;
    bytes[6]                     = std::byte{1}; // 32769
    bytes[7]                     = std::byte{0x80};
    BOOST_TEST(!decode_head(std::span<const std::byte>(bytes).first<head_size>(), &why));
    BOOST_TEST(std::string(why) == "too long a message");
}

BOOST_AUTO_TEST_CASE(every_wrong_length_is_refused)
{
    for (const Message &sample : samples()) {
        const std::vector<std::byte> bytes = encode(sample);
        const std::span rest = std::span<const std::byte>(bytes).subspan(head_size);
        // what may be of any length has some that is needed
        const size_t least = (sample.kind == Kind::goodbye) ?
                                     0 :
                             sample.address.empty() ?
                                     rest.size() :
                                     rest.size() - sample.address.size() + 1;
        for (size_t length = 0; length < rest.size(); length++) {
            const char *why = nullptr;
            BOOST_TEST(decode_rest(sample.kind, rest.first(length), &why).has_value() ==
                       (length >= least));
        }
    }
}

BOOST_AUTO_TEST_CASE(missing_and_additional_values_are_refused)
{
    const auto refused = [](Message message) { return !decodes(encode(message)); };
    Message join       = samples()[2];
    Message welcome    = samples()[3];
    BOOST_TEST(!refused(join));
    BOOST_TEST(!refused(welcome));
    for (uint64_t Message::*number : {&Message::connection, &Message::incarnation}) {
        Message without = welcome;
        without.*number = 0;
        BOOST_TEST(refused(without));
    }
    welcome.window = 0;
    BOOST_TEST(refused(welcome));
    join.window = 1;
    BOOST_TEST(refused(join));
    Message hello      = samples()[0];
    hello.token_wanted = true;
    BOOST_TEST(refused(hello));
}

BOOST_AUTO_TEST_CASE(noise_is_survived)
{
    std::mt19937 random(1);
    unsigned accepted = 0;
    for (unsigned i = 0; i < 50000; i++) {
        std::vector<std::byte> bytes = encode(samples()[i % 5]);
        for (unsigned change = 0; change <= i % 3; change++) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        if (random() % 8 == 0) {
            bytes.resize(random() % bytes.size());
        }
        accepted += decodes(bytes);
    }
    BOOST_TEST(accepted > 0u);
    BOOST_TEST(accepted < 50000u);
}

BOOST_AUTO_TEST_CASE(a_proof_is_for_one_message_of_one_side_in_one_exchange)
{
    const Secret secret("correct horse battery");
    const Secret other("correct horse batterz");
    const auto prove = [](const Secret &by, Secret::Role role, unsigned char client,
                          unsigned char server, size_t length) {
        return by.prove(role, nonce(client), nonce(server),
                        std::span(some_address).first(length));
    };
    const Proof proof = prove(secret, Secret::Role::client, 1, 2, 5);
    BOOST_TEST(static_cast<bool>(secret));
    BOOST_TEST(Secret::same(proof, prove(Secret("correct horse battery"),
                                         Secret::Role::client, 1, 2, 5)));
    BOOST_TEST(!Secret::same(proof, prove(other, Secret::Role::client, 1, 2, 5)));
    BOOST_TEST(!Secret::same(proof, prove(secret, Secret::Role::server, 1, 2, 5)));
    BOOST_TEST(!Secret::same(proof, prove(secret, Secret::Role::client, 3, 2, 5)));
    BOOST_TEST(!Secret::same(proof, prove(secret, Secret::Role::client, 1, 3, 5)));
    BOOST_TEST(!Secret::same(proof, prove(secret, Secret::Role::client, 1, 2, 4)));
    BOOST_TEST(Secret::nonce() != Secret::nonce());
}

BOOST_AUTO_TEST_CASE(tokens_are_given_or_in_the_environment)
{
    const auto says = [](const std::string &part) {
        return [part](const Error &error) {
            return std::string(error.what()).find(part) != std::string::npos;
        };
    };
    const Proof none{};
    const auto proof = [](const Secret &secret) {
        return secret.prove(Secret::Role::client, nonce(1), nonce(2), {});
    };
    unsetenv("BE_TOKEN");
    BOOST_TEST(!static_cast<bool>(Secret("")));
    BOOST_TEST((proof(Secret("")) == none));
    BOOST_CHECK_EXCEPTION(
            Secret("15 bytes, short"), Error,
            says("RuntimeOptions::token has 15 bytes: expected 16 to 1024"));
    BOOST_CHECK_EXCEPTION(Secret(std::string(1025, 'x')), Error, says("1025 bytes"));
    setenv("BE_TOKEN", "from the environment", 1);
    BOOST_TEST((proof(Secret("")) == proof(Secret("from the environment"))));
    BOOST_TEST((proof(Secret("given, and it counts")) ==
                proof(Secret("given, and it counts"))));
    BOOST_TEST((proof(Secret("given, and it counts")) != proof(Secret(""))));
    setenv("BE_TOKEN", "short", 1);
    BOOST_CHECK_EXCEPTION(Secret(""), Error, says("variable BE_TOKEN has 5 bytes"));
    unsetenv("BE_TOKEN");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::adapter::exchange
