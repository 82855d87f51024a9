// SPDX-License-Identifier: BSD-3-Clause
//
// Indices: not reused soon, all of them to be had, and no more of the shared tables touched than that takes.
#include <boost/test/unit_test.hpp>

#include "endpoint.hpp"
#include "lib/procfs.hpp"
#include "lib/sanitized.hpp"
#include "softrdma/id_table.h"

#include <map>
#include <set>
#include <unistd.h>
#include <vector>

using namespace softtest;

namespace {

using table              = softrdma::id_table<int>;
constexpr uint32_t cycle = table::shortest_cycle;

} // namespace

BOOST_AUTO_TEST_SUITE(id_table)

BOOST_AUTO_TEST_CASE(one_that_comes_and_goes_stays_within_a_cycle)
{
    table indices(2, 16 * cycle, 16 * cycle - 12); // the cycle begins near the end
    const uint32_t kept = indices.reserve();
    std::map<uint32_t, uint32_t> last;
    for (uint32_t turn = 1; turn <= 10 * cycle; ++turn) {
        const uint32_t index = indices.reserve();
        BOOST_REQUIRE_GE(index, 2);
        BOOST_REQUIRE_LT(index, 16 * cycle);
        BOOST_REQUIRE_NE(index, kept);
        if (last.count(index) != 0) {
            BOOST_REQUIRE_GE(turn - last[index], cycle / 2);
        }
        last[index] = turn;
        indices.erase(index);
    }
    BOOST_TEST(last.size() == cycle - 1);
}

BOOST_AUTO_TEST_CASE(all_can_be_in_use)
{
    constexpr uint32_t first = 2, capacity = 5 * cycle / 2;
    table indices(first, capacity, 77);
    for (int round = 0; round < 2; ++round) {
        std::set<uint32_t> used;
        for (uint32_t i = first; i < capacity; ++i) {
            used.insert(indices.reserve());
        }
        BOOST_TEST(used.size() == capacity - first);
        BOOST_TEST(*used.begin() == first);
        BOOST_TEST(*used.rbegin() == capacity - 1);
        BOOST_TEST(indices.reserve() == 0);
        for (const uint32_t index : used) {
            indices.erase(index);
        }
    }
}

BOOST_AUTO_TEST_CASE(queue_pairs_that_come_and_go_take_no_memory)
{
    const auto make = [](unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            endpoint passing;
        }
    };
    make(2 * cycle);
    const std::size_t before = be::test::footprint(::getpid()).resident;
    make(4 * cycle);
    const std::size_t after = be::test::footprint(::getpid()).resident;
    BOOST_TEST((be::test::sanitized || after < before + (512u << 10)),
               "grew from " << before << " to " << after << " bytes");
}

BOOST_AUTO_TEST_SUITE_END()
