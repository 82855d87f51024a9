// SPDX-License-Identifier: BSD-3-Clause
//
// Many to many.

#include "scenario.hpp"

#include <numeric>
#include <string>

namespace be::sim {

namespace {

constexpr int load = 1;

void keep_busy(World &world, const std::vector<Link> &links, int64_t bytes, int depth)
{
    world.on_done([&world, bytes](uint32_t transfer) {
        if (world.transfers()[transfer].tag == load) {
            world.start(world.transfers()[transfer].link, bytes, Operation::write, load);
        }
    });
    for (Link link : links) {
        for (int i = 0; i < depth; ++i) {
            world.start(link, bytes, Operation::write, load);
        }
    }
}

Result measure(World &world, Meter &meter, Victims &victims, Time duration,
               const std::vector<uint32_t> &receivers)
{
    world.run_until(world.now() + duration / 4);
    meter.begin();
    victims.start(meter.begun() + duration * 3 / 4);
    world.run_until(meter.begun() + duration * 3 / 4);

    Result result  = meter.result(load);
    result.goodput = meter.goodput(receivers);
    return result;
}

void idle_victims(World &world, Victims &victims)
{
    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);
}

/* 32 receivers hear each of a few senders, which they share, and one of their own. */
Result hot_senders(const Options &options, uint32_t hot)
{
    World world(world_config(options, 128));
    Meter meter(world);
    std::vector<Link> shared, own;
    std::vector<uint32_t> receivers(32);

    std::iota(receivers.begin(), receivers.end(), 0);
    for (uint32_t receiver : receivers) {
        for (uint32_t i = 0; i < hot; ++i) {
            shared.push_back(world.connect(96 + i, receiver));
        }
        own.push_back(world.connect(32 + receiver, receiver));
        world.nic().set_spine(own.back(), static_cast<uint16_t>(receiver));
    }

    Victims victims(world, own, 2.0);
    std::vector<Link> all = shared;

    idle_victims(world, victims);
    all.insert(all.end(), own.begin(), own.end());
    keep_busy(world, all, 1 << 20, 2);

    Result result = measure(world, meter, victims, 8 * millisecond, receivers);

    result.note = "goodput is the mean of the receivers";
    return result;
}

/* Between the leaves, so that the core is the bottleneck. */
Result all_to_all(const Options &options, uint32_t oversubscription)
{
    World world(world_config(options, 96, oversubscription));
    Meter meter(world);
    std::vector<Link> links;
    std::vector<uint32_t> hosts(96);

    std::iota(hosts.begin(), hosts.end(), 0);
    for (uint32_t i : hosts) {
        for (uint32_t j : hosts) {
            if ((i / 32 != j / 32) && ((i + j) % 4 == 0)) {
                links.push_back(world.connect(i, j));
            }
        }
    }

    Victims victims(world, links, 1.0);

    idle_victims(world, victims);
    keep_busy(world, links, 256 << 10, 1);

    Result result = measure(world, meter, victims, 6 * millisecond, hosts);

    result.goodput *= oversubscription;
    result.note = "goodput is of the core";
    return result;
}

} // namespace

std::vector<Scenario> mesh_scenarios()
{
    std::vector<Scenario> list;

    for (uint32_t hot : {1u, 8u, 16u, 24u, 32u}) {
        list.push_back({"hot-" + std::to_string(hot),
                        "32 receivers share " + std::to_string(hot) +
                                " senders, each has one more",
                        [=](const Options &options) { return hot_senders(options, hot); },
                        {},
                        false});
    }
    list.push_back({"all-to-all",
                    "96 hosts, between leaves, paths by hash",
                    [](const Options &options) { return all_to_all(options, 1); },
                    {},
                    false});
    list.push_back({"all-to-all-2to1",
                    "the same, the core carries half",
                    [](const Options &options) { return all_to_all(options, 2); },
                    {},
                    false});
    return list;
}

} // namespace be::sim
