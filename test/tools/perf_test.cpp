// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of be_perf: its histogram, its sizes, and what it knows of contents.
#define BOOST_TEST_MODULE perf
#include <boost/test/unit_test.hpp>

#include "tools/perf/content.hpp"
#include "tools/perf/histogram.hpp"
#include "tools/perf/sizes.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

#include <unistd.h>

namespace be::tools {

BOOST_AUTO_TEST_CASE(percentiles_are_those_of_the_sorted_values)
{
    std::mt19937_64 random(1);
    auto histogram = std::make_unique<Histogram>();
    std::vector<uint64_t> values;
    double sum = 0;

    for (unsigned i = 0; i < 100000; i++) {
        values.push_back(random() >> (random() % 64));
        histogram->add(values.back());
        sum += static_cast<double>(values.back());
    }
    std::sort(values.begin(), values.end());
    for (double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto exact = static_cast<double>(
                values[static_cast<size_t>(share * static_cast<double>(values.size())) -
                       1]);
        const auto got = static_cast<double>(histogram->percentile(share));
        BOOST_TEST(std::abs(got - exact) <= exact / 64 + 1, share << ": " << got);
    }
    BOOST_TEST(histogram->count() == 100000u);
    BOOST_TEST(histogram->max() == values.back());
    BOOST_TEST(std::abs(histogram->mean() - sum / 100000) <= sum / 1e10);
}

BOOST_AUTO_TEST_CASE(a_histogram_survives_the_way_to_another_process)
{
    auto one = std::make_unique<Histogram>();
    auto two = std::make_unique<Histogram>();
    for (uint64_t value : {0ul, 1ul, 127ul, 128ul, 129ul, 1000000ul, 123456789012ul}) {
        one->add(value);
    }
    two->add(5);
    two->merge_dump(one->dump());
    one->add(5);
    for (double share = 0; share <= 1; share += 0.05) {
        BOOST_TEST(one->percentile(share) == two->percentile(share));
    }
    BOOST_TEST(one->count() == two->count());
    BOOST_TEST(one->mean() == two->mean());
    two->merge_dump({});
    two->merge_dump({0, 0, 1e9, 5}); // a bucket that does not exist
    BOOST_TEST(one->count() == two->count());
}

BOOST_AUTO_TEST_CASE(sizes_are_distributed_as_asked)
{
    std::mt19937_64 random(1);
    const auto draw = [&](const char *text, unsigned count) {
        Sizes sizes(text);
        std::vector<size_t> all;
        for (unsigned i = 0; i < count; i++) {
            all.push_back(sizes.draw(random));
            BOOST_REQUIRE(all.back() <= sizes.largest());
        }
        std::sort(all.begin(), all.end());
        return all;
    };
    BOOST_TEST((draw("64k", 3) == std::vector<size_t>{65536, 65536, 65536}));
    const auto uniform = draw("uniform:10-20", 1000);
    BOOST_TEST(uniform.front() == 10u);
    BOOST_TEST(uniform.back() == 20u);
    const auto normal = draw("lognormal:256-64k", 10000);
    BOOST_TEST(normal.front() == 256u);
    BOOST_TEST(normal.back() == 65536u);
    BOOST_TEST(normal[5000] > 3800u); // the median is the geometric mean, 4096
    BOOST_TEST(normal[5000] < 4400u);
    std::map<size_t, unsigned> counts;
    for (size_t size : draw("zipf:64-1k", 10000)) {
        counts[size]++;
    }
    BOOST_TEST(counts.size() == 5u);
    BOOST_TEST(counts[64] > 4800u);
    BOOST_TEST(counts[64] < 5200u);
}

BOOST_AUTO_TEST_CASE(a_trace_is_followed_line_by_line)
{
    const std::string path = "/tmp/be-trace." + std::to_string(getpid());
    std::ofstream(path) << "100\n2k\n7\n";
    Sizes sizes("trace:" + path);
    std::mt19937_64 random(1);
    for (size_t expected : {100ul, 2048ul, 7ul, 100ul}) {
        BOOST_TEST(sizes.draw(random) == expected);
    }
    BOOST_TEST(sizes.largest() == 2048u);
    unlink(path.c_str());
    BOOST_CHECK_THROW(Sizes("trace:" + path), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(wrong_sizes_are_named)
{
    for (const char *bad :
         {"", "x", "-1", "1g", "1kk", "99999999999", "uniform:", "uniform:5",
          "uniform:9-5", "uniform:0-5", "normal:1-2", "lognormal:1-", "zipf:-5"}) {
        BOOST_CHECK_EXCEPTION(Sizes{bad}, std::invalid_argument,
                              [](const std::invalid_argument &error) {
                                  return std::string(error.what()).find("expected") !=
                                         std::string::npos;
                              });
    }
}

BOOST_AUTO_TEST_CASE(every_changed_byte_is_noticed)
{
    for (size_t size : {1ul, 7ul, 8ul, 9ul, 100ul}) {
        std::vector<std::byte> bytes(size);
        fill(bytes, 3);
        BOOST_TEST(intact(bytes, 3, true));
        BOOST_TEST(intact(bytes, 3, false));
        BOOST_TEST(!intact(bytes, 4, false));
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= std::byte{0x10};
            BOOST_TEST(!intact(bytes, 3, true));
            bytes[at] ^= std::byte{0x10};
        }
        bytes.back() ^= std::byte{1};
        BOOST_TEST(!intact(bytes, 3, false));
    }
}

} // namespace be::tools
