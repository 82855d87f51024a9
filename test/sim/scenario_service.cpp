// SPDX-License-Identifier: BSD-3-Clause
//
// What services do: parameter servers, mice beside an elephant, a slow receiver.

#include "scenario.hpp"

#include <cstdio>

namespace be::sim {

namespace {

constexpr int pull_tag = 1;
constexpr int push_tag = 2;
constexpr int mice_tag = 3;

/* 64 workers and 16 servers over three leaves, each worker with one pull (READ) and one
 * push (WRITE) under way at each server, and 64 B messages in both directions. */
Result parameter_server(const Options &options, uint32_t oversubscription, Time duration)
{
    World world(world_config(options, 96, oversubscription));
    Meter meter(world);
    std::vector<uint32_t> servers, workers;
    std::vector<Link> links, both;

    for (uint32_t host = 0; host < 80; ++host) {
        (host % 5 == 0 ? servers : workers).push_back(host);
    }
    for (uint32_t worker : workers) {
        for (uint32_t server : servers) {
            links.push_back(world.connect(worker, server));
            both.push_back(links.back());
            both.push_back(links.back() ^ 1);
        }
    }

    Victims victims(world, both, 2.0);

    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);

    Time end   = world.now() + duration;
    auto again = [&](Link link, int tag) {
        world.start(link, world.random.parameter_size(),
                    (tag == pull_tag) ? Operation::read : Operation::write, tag);
    };

    world.on_done([&](uint32_t transfer) {
        const Transfer &done = world.transfers()[transfer];

        if ((done.tag != Victims::tag) && (world.now() < end)) {
            again(done.link, done.tag);
        }
    });
    for (Link link : links) {
        again(link, pull_tag);
        again(link, push_tag);
    }
    world.run_until(world.now() + duration / 6);
    meter.begin();
    victims.start(end);
    world.run_until(end);

    Result result  = meter.result(pull_tag);
    result.goodput = meter.goodput(servers);
    result.note    = "goodput is of the servers' ports";
    return result;
}

/* One peer that always has 8 MiB under way; 1000 others that send a little. */
Result mice(const Options &options, Time duration)
{
    World world(world_config(options, 1024));
    Meter meter(world);
    std::vector<Link> small;
    Link elephant = world.connect(1, 0);

    for (uint32_t host = 2; host <= 1001; ++host) {
        small.push_back(world.connect(host, 0));
    }

    Victims victims(world, small, 1.0);

    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);

    Time end = world.now() + duration;

    world.on_done([&](uint32_t transfer) {
        if ((world.transfers()[transfer].tag == pull_tag) && (world.now() < end)) {
            world.start(elephant, 4 << 20, Operation::write, pull_tag);
        }
    });
    world.start(elephant, 4 << 20, Operation::write, pull_tag);
    world.start(elephant, 4 << 20, Operation::write, pull_tag);

    std::function<void()> mouse = [&] {
        if (world.now() < end) {
            world.start(small[world.random.below(static_cast<uint32_t>(small.size()))],
                        2048 + world.random.below(6144), Operation::send, mice_tag);
            world.after(static_cast<Time>(world.random.exponential(4.0) * microsecond),
                        mouse);
        }
    };

    mouse();
    world.run_until(world.now() + 2 * millisecond);
    meter.begin();
    victims.start(end);
    world.run_until(end);

    Result result  = meter.result(mice_tag);
    result.goodput = meter.goodput({0});
    result.note    = "transfers: mice of 2 to 8 KiB";
    return result;
}

/* The application takes messages at `gbps` and stands still for 2 ms. */
Result slow_receiver(const Options &options, double gbps)
{
    constexpr uint32_t senders = 64;
    WorldConfig config         = world_config(options, senders + 1);

    config.ns_per_byte = 8 / gbps;

    World world(config);
    Meter meter(world);
    std::vector<Link> links;

    for (uint32_t i = 1; i <= senders; ++i) {
        links.push_back(world.connect(i, 0));
    }
    world.run_until(millisecond);
    meter.begin();
    for (Link link : links) {
        for (int i = 0; i < 3; ++i) {
            world.start(link, 1 << 20, Operation::send, pull_tag);
        }
    }
    world.after(millisecond, [&] {
        world.stop_application(0, true);
        world.after(2 * millisecond, [&] { world.stop_application(0, false); });
    });

    bool finished = world.run_to_end(world.now() + 500 * millisecond);
    double bytes  = 3.0 * (1 << 20) * senders;
    Result result = meter.result(pull_tag);
    char note[64];

    result.finished = finished;
    result.goodput  = bytes * 8 * nanosecond / gbps /
                     static_cast<double>(world.last_end() - meter.begun());
    std::snprintf(note, sizeof(note), "goodput is of the application's %.0f Gb/s", gbps);
    result.note = note;
    return result;
}

} // namespace

std::vector<Scenario> service_scenarios()
{
    return {
            {"ps-short",
             "64 workers, 16 servers: pull by READ, push by WRITE; 4 ms",
             [](const Options &options) {
                 return parameter_server(options, 1, 4 * millisecond);
             },
             {.goodput = 0.92, .victim = 2.5},
             true},
            {"ps",
             "the same for 12 ms",
             [](const Options &options) {
                 return parameter_server(options, 1, 12 * millisecond);
             },
             {.goodput = 0.92, .victim = 2.5},
             false},
            {"ps-2to1",
             "the same, the core carries half",
             [](const Options &options) {
                 return parameter_server(options, 2, 12 * millisecond);
             },
             {},
             false},
            {"mice",
             "one elephant by WRITE, 1000 mice by SEND",
             [](const Options &options) { return mice(options, 10 * millisecond); },
             {.goodput = 0.95, .victim = 3},
             true},
            {"slow-20",
             "64 to 1 by SEND, the application takes 20 Gb/s, stops for 2 ms",
             [](const Options &options) { return slow_receiver(options, 20); },
             {.goodput = 0.90},
             true},
            {"slow-90",
             "the same, 90 Gb/s",
             [](const Options &options) { return slow_receiver(options, 90); },
             {},
             true},
    };
}

} // namespace be::sim
