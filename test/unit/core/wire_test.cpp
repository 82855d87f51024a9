// SPDX-License-Identifier: BSD-3-Clause

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/wire.hpp"

using namespace be::core;

namespace {

using Bytes = std::array<std::byte, data_header_size>;

Bytes bytes(std::initializer_list<int> values)
{
    Bytes out{};
    std::size_t i = 0;

    for (int value : values) {
        out[i++] = static_cast<std::byte>(value);
    }
    return out;
}

const DataHeader sample = {.am_id     = 0x11,
                           .flags     = 0x22,
                           .dst_iface = 0x3344,
                           .seq       = 0x55667788,
                           .granted   = 0x99aabbcc};

} // namespace

BOOST_AUTO_TEST_SUITE(wire)

/* The layout of docs/protocol.md, byte by byte. */
BOOST_AUTO_TEST_CASE(header_layout)
{
    Bytes out;

    encode(sample, out);
    BOOST_TEST((out == bytes({2, 1, 0x11, 0x22, 0x44, 0x33, 0, 0, 0x88, 0x77, 0x66, 0x55,
                              0xcc, 0xbb, 0xaa, 0x99})));
}

BOOST_AUTO_TEST_CASE(header_round_trip)
{
    std::mt19937 random(1);

    for (int i = 0; i < 1000; ++i) {
        DataHeader in{.kind      = (random() % 2) ? HeaderKind::am : HeaderKind::credit,
                      .am_id     = static_cast<uint8_t>(random()),
                      .flags     = static_cast<uint8_t>(random()),
                      .dst_iface = static_cast<uint16_t>(random()),
                      .seq       = static_cast<uint32_t>(random()),
                      .granted   = static_cast<uint32_t>(random())};
        DataHeader out;
        Bytes wire;

        encode(in, wire);
        BOOST_TEST((decode(wire, out) == DecodeError::none));
        BOOST_TEST((in == out));
    }
}

/* A heap block of the exact length lets a sanitizer see any read beyond it. */
BOOST_AUTO_TEST_CASE(header_truncated)
{
    Bytes wire;

    encode(sample, wire);
    for (std::size_t size = 0; size <= data_header_size; ++size) {
        std::vector<std::byte> exact(wire.begin(), wire.begin() + size);
        DataHeader out{.seq = 77};
        DecodeError error = decode(exact, out);

        if (size < data_header_size) {
            BOOST_TEST((error == DecodeError::truncated));
            BOOST_TEST(out.seq == 77u); /* untouched */
        } else {
            BOOST_TEST((error == DecodeError::none));
        }
    }
}

BOOST_AUTO_TEST_CASE(header_refusals)
{
    struct Case {
        std::size_t offset;
        int value;
        DecodeError expected;
    };

    static constexpr Case cases[] = {
            {0, 0, DecodeError::version},    {0, 1, DecodeError::version},
            {0, 0x11, DecodeError::version}, {1, 0, DecodeError::kind},
            {1, 3, DecodeError::kind},       {1, 0x81, DecodeError::kind},
            {6, 1, DecodeError::reserved},   {7, 0x80, DecodeError::reserved},
            {2, 0xff, DecodeError::none},    {3, 0xff, DecodeError::none}};

    for (const Case &item : cases) {
        DataHeader out{.seq = 77};
        Bytes wire;

        encode(sample, wire);
        wire[item.offset] = static_cast<std::byte>(item.value);
        BOOST_TEST((decode(wire, out) == item.expected),
                   "byte " << item.offset << " = " << item.value);
        BOOST_TEST((out.seq == 77u) == (item.expected != DecodeError::none));
    }
}

BOOST_AUTO_TEST_CASE(errors_have_words)
{
    std::vector<std::string> seen;

    for (DecodeError error :
         {DecodeError::none, DecodeError::truncated, DecodeError::version,
          DecodeError::kind, DecodeError::reserved}) {
        std::string words = describe(error);

        BOOST_TEST(!words.empty());
        BOOST_TEST((std::find(seen.begin(), seen.end(), words) == seen.end()));
        seen.push_back(words);
    }
    BOOST_TEST(std::string(describe(static_cast<DecodeError>(99))) ==
               "unknown header error");
}

BOOST_AUTO_TEST_CASE(cell_layout)
{
    CreditCell cell{.messages = 0x11223344, .byte_units = 0x15566778, .floor = 3};
    alignas(8) uint64_t word = 0;
    unsigned char raw[8];

    BOOST_TEST(pack(cell) == 0xd556677811223344u);
    BOOST_TEST((unpack_cell(0xd556677811223344u) == cell));

    store_cell(&word, cell);
    std::memcpy(raw, &word, sizeof(raw));
    BOOST_TEST(raw[0] == 0x44);
    BOOST_TEST(raw[7] == 0xd5);
    BOOST_TEST((load_cell(&word) == cell));
}

BOOST_AUTO_TEST_CASE(cell_fields_do_not_spill)
{
    BOOST_TEST(pack({.messages = 0, .byte_units = 0xffffffff, .floor = 0}) ==
               0x3fffffff00000000u);
    BOOST_TEST(pack({.messages = 0, .byte_units = 0, .floor = 0xff}) ==
               0xc000000000000000u);
    BOOST_TEST((unpack_cell(~uint64_t{0}) == CreditCell{0xffffffff, 0x3fffffff, 3}));
}

BOOST_AUTO_TEST_CASE(notice_round_trip)
{
    for (Notice::Kind kind :
         {Notice::request, Notice::grant, Notice::bulk, Notice::byte_request,
          Notice::revoke, Notice::give_back, Notice::byte_revoke, Notice::byte_return,
          Notice::wake, Notice::woken}) {
        for (uint32_t value : {0u, 1u, 0x0fffffffu}) {
            Notice notice{kind, value};

            BOOST_TEST((decode_notice(encode(notice)) == notice));
        }
    }
    BOOST_TEST(encode(Notice{Notice::request, 5}) == 0x10000005u);
    BOOST_TEST(encode(Notice{Notice::grant, 0xffffffff}) ==
               0x2fffffffu); /* cut to 28 bits */
}

BOOST_AUTO_TEST_CASE(notice_refuses_unknown_kinds)
{
    for (uint32_t kind = 0; kind < 16; ++kind) {
        bool known = (kind >= 1) && (kind <= 10);

        BOOST_TEST(decode_notice((kind << 28) | 9).has_value() == known);
    }
}

BOOST_AUTO_TEST_SUITE_END()
