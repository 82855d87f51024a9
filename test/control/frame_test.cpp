// SPDX-License-Identifier: BSD-3-Clause

#include "control/frame.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

using namespace be::control;
using Status = FrameReader::Status;

namespace {

std::vector<std::uint8_t> frame_of(std::uint32_t length, std::uint8_t first = 0)
{
    std::vector<std::uint8_t> bytes(frame_header_size + length);

    for (std::size_t i = 0; i < frame_header_size; ++i) {
        bytes[i] = static_cast<std::uint8_t>(length >> (8 * i));
    }
    std::iota(bytes.begin() + frame_header_size, bytes.end(), first);
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_SUITE(frame)

BOOST_AUTO_TEST_CASE(any_portions_give_the_same_frames)
{
    std::vector<std::uint8_t> stream;
    for (std::uint32_t length : {8u, 9u, 300u, 1024u, 8u}) {
        auto bytes = frame_of(length, static_cast<std::uint8_t>(length));
        stream.insert(stream.end(), bytes.begin(), bytes.end());
    }

    for (std::size_t portion : {1u, 2u, 3u, 5u, 7u, 64u, 4096u}) {
        FrameReader reader;
        std::vector<std::size_t> lengths;
        for (std::size_t at = 0; at < stream.size(); at += portion) {
            std::span<const std::uint8_t> input(stream.data() + at,
                                                std::min(portion, stream.size() - at));
            while (reader.read(input) == Status::complete) {
                lengths.push_back(reader.frame().size());
                BOOST_TEST(reader.frame()[0] ==
                           static_cast<std::uint8_t>(reader.frame().size()));
            }
            BOOST_TEST(input.empty());
        }
        BOOST_TEST(lengths == (std::vector<std::size_t>{8, 9, 300, 1024, 8}),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(length_is_bounded_at_the_header)
{
    for (std::uint32_t length : {0u, 7u, 1025u, 65536u, 0xffffffffu}) {
        FrameReader reader;
        auto bytes = frame_of(0);
        for (std::size_t i = 0; i < frame_header_size; ++i) {
            bytes[i] = static_cast<std::uint8_t>(length >> (8 * i));
        }
        std::span<const std::uint8_t> input(bytes);
        BOOST_CHECK(reader.read(input) == Status::bad_length);
        BOOST_TEST(reader.announced_length() == length);
    }
}

BOOST_AUTO_TEST_CASE(limit_applies_from_the_next_frame)
{
    FrameReader reader;
    auto small = frame_of(100);
    auto large = frame_of(max_frame);
    std::span<const std::uint8_t> input(small);

    BOOST_CHECK(reader.read(input) == Status::complete);
    reader.set_limit(max_frame);
    input = large;
    BOOST_CHECK(reader.read(input) == Status::complete);
    BOOST_TEST(reader.frame().size() == max_frame);
}

BOOST_AUTO_TEST_SUITE_END()
