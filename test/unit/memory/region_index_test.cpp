// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"
#include "memory/region_index.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace be::memory;

namespace {

char *at(size_t unit)
{
    return reinterpret_cast<char *>((size_t{1} << 40) + unit * region_unit); // NOLINT
}

RegionIndex::Entry entry(size_t number)
{
    // Never followed.
    auto *region = reinterpret_cast<ArenaRegion *>(number * 64); // NOLINT
    return {{static_cast<uint32_t>(number), static_cast<uint32_t>(number) + 1, region},
            region};
}

} // namespace

BOOST_AUTO_TEST_SUITE(region_index)

BOOST_AUTO_TEST_CASE(every_byte_of_a_region_finds_it)
{
    RegionIndex index;
    index.insert(at(5), 3 * region_unit, entry(1));
    BOOST_TEST(index.find(at(5) - 1).region == nullptr);
    BOOST_TEST(index.find(at(5)).registration.lkey == 1u);
    BOOST_TEST(index.find(at(8) - 1).registration.rkey == 2u);
    BOOST_TEST(index.find(at(8)).region == nullptr);
    BOOST_TEST(index.find(nullptr).region == nullptr);
    index.erase(at(5), 3 * region_unit);
    BOOST_TEST(index.find(at(6)).region == nullptr);
}

BOOST_AUTO_TEST_CASE(it_agrees_with_a_map)
{
    std::mt19937_64 random(3);
    RegionIndex index;
    std::map<size_t, size_t> model; // first unit -> units
    const auto covers = [&](size_t unit) -> size_t {
        auto found = model.upper_bound(unit);
        return ((found != model.begin()) &&
                (unit < std::prev(found)->first + std::prev(found)->second)) ?
                       std::prev(found)->first :
                       0;
    };
    for (int step = 0; step < 20000; ++step) {
        const size_t first = 1 + random() % 3000;
        const size_t units = 1 + random() % 4;
        bool free          = true;
        for (size_t i = 0; i < units; ++i) {
            free &= covers(first + i) == 0;
        }
        if (free && (random() % 3 != 0)) {
            index.insert(at(first), units * region_unit, entry(first));
            model[first] = units;
        } else if (!model.empty()) {
            auto gone = model.lower_bound(first);
            gone      = (gone == model.end()) ? model.begin() : gone;
            index.erase(at(gone->first), gone->second * region_unit);
            model.erase(gone);
        }
        for (int i = 0; i < 5; ++i) {
            const size_t unit = 1 + random() % 3004;
            BOOST_TEST_REQUIRE(index.find(at(unit)).registration.lkey == covers(unit));
        }
    }
}

BOOST_AUTO_TEST_CASE(readers_never_see_a_mixture)
{
    RegionIndex index;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> wrong{0};
    index.insert(at(1), region_unit, entry(1)); // always there
    std::vector<std::thread> readers;
    for (unsigned seed = 1; seed <= 2; ++seed) {
        readers.emplace_back([&, seed] {
            std::mt19937_64 random(seed);
            while (!stop.load(std::memory_order_relaxed)) {
                const size_t unit = 1 + random() % 200;
                const auto found  = index.find(at(unit));
                const bool right  = (found.region == nullptr) ?
                                            (unit != 1) :
                                            (found.registration.lkey == unit) &&
                                                   (found.registration.rkey ==
                                                    unit + 1) &&
                                                   (found.registration.handle ==
                                                    found.region);
                wrong += right ? 0 : 1;
            }
        });
    }
    std::mt19937_64 random(9);
    std::vector<bool> present(201, false);
    for (int step = 0; step < 50000; ++step) {
        const size_t unit = 2 + random() % 199;
        if (present[unit]) {
            index.erase(at(unit), region_unit);
        } else {
            index.insert(at(unit), region_unit, entry(unit));
        }
        present[unit] = !present[unit];
    }
    stop = true;
    for (std::thread &reader : readers) {
        reader.join();
    }
    BOOST_TEST(wrong.load() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
