// SPDX-License-Identifier: BSD-3-Clause
//
// The adapter's header: what is written is read, and nothing else is.
#include "adapter/wire.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>
#include <string>
#include <cstring>

namespace be::adapter {

namespace {

wire::Header sample()
{
    return {.kind       = wire::Kind::response,
            .status     = Status::handler_failed,
            .flags      = wire::flag_bulk,
            .connection = 0x3132333435363738,
            .id         = 0x0102030405060708,
            .value      = 0x1112131415161718,
            .code       = 0x21222324,
            .text       = "why"};
}

// In memory of its own, so that a sanitizer sees reads beyond it.
bool decodes(const std::byte *bytes, size_t size)
{
    const auto copy = std::make_unique_for_overwrite<std::byte[]>(size);
    const char *why = nullptr;

    std::memcpy(copy.get(), bytes, size);
    const auto header = wire::decode({copy.get(), size}, &why);
    BOOST_REQUIRE_EQUAL(header.has_value(), why == nullptr);
    return header.has_value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(wire_header)

BOOST_AUTO_TEST_CASE(what_is_written_is_read)
{
    std::array<std::byte, wire::max_size> bytes;
    const char *why    = nullptr;
    const size_t size  = wire::encode(sample(), bytes);
    const auto decoded = wire::decode(std::span(bytes).first(size), &why);

    BOOST_TEST(size == wire::fixed_size + 3);
    BOOST_REQUIRE(decoded);
    BOOST_TEST((decoded->kind == wire::Kind::response));
    BOOST_TEST((decoded->status == Status::handler_failed));
    BOOST_TEST(decoded->flags == wire::flag_bulk);
    BOOST_TEST(decoded->connection == sample().connection);
    BOOST_TEST(decoded->id == sample().id);
    BOOST_TEST(decoded->value == sample().value);
    BOOST_TEST(decoded->code == sample().code);
    BOOST_TEST(decoded->text == "why");
}

// The bytes themselves: another release must be able to read them.
BOOST_AUTO_TEST_CASE(the_bytes_are_those_of_the_description)
{
    std::array<std::byte, wire::max_size> bytes;
    const size_t size              = wire::encode(sample(), bytes);
    const unsigned char expected[] = {0x57, 0xBE, 2,    2,    1,    1,    0,    0,
                                      0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
                                      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
                                      0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                                      0x24, 0x23, 0x22, 0x21, 3,    0,    0,    0,
                                      'w',  'h',  'y'};
    BOOST_REQUIRE(size == sizeof(expected));
    BOOST_TEST(std::memcmp(bytes.data(), expected, size) == 0);
}

BOOST_AUTO_TEST_CASE(a_long_text_is_cut)
{
    std::array<std::byte, wire::max_size> bytes;
    const std::string text(5000, 'x');
    const char *why    = nullptr;
    const size_t size  = wire::encode({.text = text}, bytes);
    const auto decoded = wire::decode(std::span(bytes).first(size), &why);
    BOOST_REQUIRE(decoded);
    BOOST_TEST(decoded->text == std::string(wire::max_text, 'x'));
}

BOOST_AUTO_TEST_CASE(every_wrong_length_is_refused)
{
    std::array<std::byte, wire::max_size> bytes{};
    const size_t size = wire::encode(sample(), bytes);
    for (size_t length = 0; length < bytes.size(); length++) {
        BOOST_TEST(decodes(bytes.data(), length) == (length == size));
    }
}

BOOST_AUTO_TEST_CASE(every_byte_that_is_fixed_is_checked)
{
    std::array<std::byte, wire::max_size> bytes;
    const size_t size = wire::encode(sample(), bytes);
    for (size_t at : {0, 1, 2, 6, 7, 36, 37, 38, 39}) {
        for (unsigned value = 0; value < 256; value++) {
            auto changed = bytes;
            changed[at]  = static_cast<std::byte>(value);
            BOOST_TEST(decodes(changed.data(), size) == (changed[at] == bytes[at]));
        }
    }
    const auto accepted = [&](size_t at) {
        unsigned count = 0;
        for (unsigned value = 0; value < 256; value++) {
            auto changed = bytes;
            changed[at]  = static_cast<std::byte>(value);
            count += decodes(changed.data(), size);
        }
        return count;
    };
    BOOST_TEST(accepted(3) == 6u); // kinds
    BOOST_TEST(accepted(4) == static_cast<unsigned>(last_status) + 1);
    BOOST_TEST(accepted(5) == 8u); // flags
}

BOOST_AUTO_TEST_CASE(noise_is_survived)
{
    std::mt19937 random(1);
    std::array<std::byte, wire::max_size> bytes;
    unsigned accepted = 0;
    for (unsigned i = 0; i < 100000; i++) {
        const size_t size = wire::encode(sample(), bytes);
        for (unsigned change = 0; change <= i % 3; change++) {
            bytes[random() % size] = static_cast<std::byte>(random());
        }
        accepted += decodes(bytes.data(), random() % 8 == 0 ? random() % 64 : size);
    }
    BOOST_TEST(accepted > 0u);
    BOOST_TEST(accepted < 100000u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace be::adapter
