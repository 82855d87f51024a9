// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that are idle, come in numbers, or die.

#include "scenario.hpp"

#include <cstdio>

namespace be::sim {

namespace {

constexpr int load   = 1;
constexpr int joiner = 2;

/* Keeps two transfers of `bytes` under way on each link until `end`. */
void keep_busy(World &world, const std::vector<Link> &links, int64_t bytes,
               const Time &end)
{
    world.on_done([&world, bytes, &end](uint32_t transfer) {
        if ((world.transfers()[transfer].tag == load) && (world.now() < end)) {
            world.start(world.transfers()[transfer].link, bytes, Operation::write, load);
        }
    });
    for (Link link : links) {
        world.start(link, bytes, Operation::write, load);
        world.start(link, bytes, Operation::write, load);
    }
}

/* Many connected, the last ten of them active. */
Result idle_peers(const Options &options, uint32_t idle)
{
    World world(world_config(options, 1024));
    Meter meter(world);
    std::vector<Link> active;

    for (uint32_t i = 0; i < idle; ++i) {
        Link link = world.connect(1 + i % 1023, 0);

        if (i + 10 >= idle) {
            active.push_back(link);
        }
    }

    Victims victims(world, active, 5.0);
    Time end = 14 * millisecond;

    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);
    keep_busy(world, active, 256 << 10, end);
    world.run_until(5 * millisecond);
    meter.begin();
    victims.start(end);
    world.run_until(end);

    Result result  = meter.result(load);
    result.goodput = meter.goodput({0});
    result.jain    = meter.fairness(active);
    return result;
}

/* Ten are busy; then many connect at once and send 64 B each. */
Result joiners(const Options &options, uint32_t count)
{
    World world(world_config(options, 1024));
    Meter meter(world);
    std::vector<Link> active;

    for (uint32_t i = 0; i < 10; ++i) {
        active.push_back(world.connect(1 + i, 0));
    }

    Victims victims(world, active, 5.0);
    Time end = 14 * millisecond;

    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);
    keep_busy(world, active, 256 << 10, end);
    world.after(millisecond, [&] {
        std::vector<Link> links;

        for (uint32_t i = 0; i < count; ++i) {
            links.push_back(world.connect(1 + i % 1023, 0));
        }
        for (Link link : links) {
            world.start(link, 64, Operation::send, joiner);
        }
    });
    meter.begin();
    victims.start(end);
    world.run_until(end);

    Result result  = meter.result(joiner);
    result.goodput = meter.goodput({0});
    result.note    = "transfers: the joiners' first 64 B";
    return result;
}

/* Of 64 busy senders some fall silent, and are declared dead 5 ms later. */
Result deaths(const Options &options, uint32_t dying)
{
    constexpr uint32_t senders = 64;
    constexpr Time silence     = 5 * millisecond;
    World world(world_config(options, senders + 1));
    Meter meter(world);
    std::vector<Link> links;

    for (uint32_t i = 1; i <= senders; ++i) {
        links.push_back(world.connect(i, 0));
    }
    world.run_until(2 * millisecond);

    Time start = world.now(), end = start + 20 * millisecond;

    keep_busy(world, links, 1 << 20, end);
    for (uint32_t i = 0; i < dying; ++i) {
        world.after(4 * millisecond + i * 3 * microsecond,
                    [&world, i] { world.kill(1 + i); });
        world.after(4 * millisecond + silence,
                    [&world, i] { world.declare_dead(1 + i); });
    }
    world.run_until(start + 4 * millisecond);
    meter.begin();
    world.run_until(start + 4 * millisecond + silence - 5 * microsecond);

    double meanwhile = meter.goodput({0});

    world.run_until(start + 5 * millisecond + silence);
    meter.begin();
    world.run_until(end);

    Result result = meter.result(load);
    char note[64];

    std::snprintf(note, sizeof(note), "goodput until they are declared dead %.1f %%",
                  100 * meanwhile);
    result.goodput = meter.goodput({0});
    result.note    = note;
    return result;
}

} // namespace

std::vector<Scenario> peer_scenarios()
{
    std::vector<Scenario> list{
            {"idle-10000",
             "10 000 connected, ten of them active by WRITE",
             [](const Options &options) { return idle_peers(options, 10'000); },
             {.goodput = 0.95},
             false},
            {"idle-1000",
             "1000 connected, ten of them active by WRITE",
             [](const Options &options) { return idle_peers(options, 1000); },
             {.goodput = 0.95},
             true},
            {"join-4000",
             "ten are busy, 4000 connect at once and send 64 B",
             [](const Options &options) { return joiners(options, 4000); },
             {.goodput = 0.90},
             false},
    };

    for (uint32_t dying : {4u, 16u, 24u, 40u}) {
        list.push_back({"death-" + std::to_string(dying),
                        "64 to 1 by WRITE, " + std::to_string(dying) + " fall silent",
                        [=](const Options &options) { return deaths(options, dying); },
                        {.goodput = 0.97},
                        dying == 16});
    }
    return list;
}

} // namespace be::sim
