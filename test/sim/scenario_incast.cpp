// SPDX-License-Identifier: BSD-3-Clause
//
// Many send to one.

#include "scenario.hpp"

#include <string>

namespace be::sim {

namespace {

constexpr int load = 1;

enum class Sizes {
    equal, /* 1 MiB */
    parameters /* log-normal */
};

struct Incast {
    uint32_t senders;
    Operation operation = Operation::write;
    Sizes sizes         = Sizes::equal;
};

std::vector<Link> connect_all(World &world, uint32_t senders)
{
    std::vector<Link> links;

    for (uint32_t i = 1; i <= senders; ++i) {
        links.push_back(world.connect(i, 0));
    }
    return links;
}

/* At most 64 of them, evenly spread. */
std::vector<Link> some_of(const std::vector<Link> &links)
{
    std::vector<Link> some;
    std::size_t count = std::min<std::size_t>(links.size(), 64);

    for (std::size_t i = 0; i < count; ++i) {
        some.push_back(links[i * (links.size() / count)]);
    }
    return some;
}

/* Each sends once, all at the same time. */
Result burst(const Options &options, const Incast &incast)
{
    World world(world_config(options, incast.senders + 1));
    Meter meter(world);
    std::vector<Link> links = connect_all(world, incast.senders);
    double bytes            = 0;

    world.run_until(2 * millisecond);
    meter.begin();
    for (Link link : links) {
        int64_t size = (incast.sizes == Sizes::equal) ? 1 << 20 :
                                                        world.random.parameter_size();

        bytes += static_cast<double>(size);
        world.start(link, size, incast.operation, load);
    }

    bool finished = world.run_to_end(world.now() + 4000 * millisecond);
    Result result = meter.result(load);

    result.finished = finished;
    result.goodput  = bytes * static_cast<double>(world.nic().fabric().byte_time()) /
                     static_cast<double>(world.last_end() - meter.begun());
    if (incast.sizes == Sizes::equal) {
        std::vector<double> rates;

        for (const Transfer &transfer : world.transfers()) {
            rates.push_back(1 / static_cast<double>(transfer.end - transfer.start));
        }
        result.jain = jain(rates);
    }
    return result;
}

/* Each always has two transfers under way, with small messages among them. */
Result steady(const Options &options, const Incast &incast, Time duration)
{
    World world(world_config(options, incast.senders + 1));
    Meter meter(world);
    std::vector<Link> links = connect_all(world, incast.senders);
    Victims victims(world, some_of(links), 5.0);
    Time warm_up = std::max(duration / 10, 2 * millisecond);

    world.run_until(2 * millisecond);
    victims.start(world.now() + millisecond);
    world.run_until(world.now() + millisecond + 100 * microsecond);

    auto again = [&](Link link) {
        int64_t size = (incast.sizes == Sizes::equal) ? 1 << 20 :
                                                        world.random.parameter_size();

        world.start(link, size, incast.operation, load);
    };

    world.on_done([&](uint32_t transfer) {
        if (world.transfers()[transfer].tag == load) {
            again(world.transfers()[transfer].link);
        }
    });
    for (Link link : links) {
        again(link);
        again(link);
    }
    world.run_until(world.now() + warm_up);
    meter.begin();
    victims.start(meter.begun() + duration);
    world.run_until(meter.begun() + duration);

    Result result  = meter.result(load);
    result.goodput = meter.goodput({0});
    result.jain    = meter.fairness(links);
    return result;
}

} // namespace

std::vector<Scenario> incast_scenarios()
{
    std::vector<Scenario> list;
    constexpr Bounds fair{.goodput = 0.97, .jain = 0.99};

    for (uint32_t senders : {15u, 64u, 256u, 1024u, 4096u}) {
        std::string ratio = std::to_string(senders);
        bool small        = senders <= 256;

        list.push_back({"incast-" + ratio, ratio + " to 1, 1 MiB each by WRITE",
                        [=](const Options &options) {
                            return burst(options, {.senders = senders});
                        },
                        fair, small});
        list.push_back({"incast-" + ratio + "-send", ratio + " to 1, 1 MiB each by SEND",
                        [=](const Options &options) {
                            return burst(options, {.senders   = senders,
                                                   .operation = Operation::send});
                        },
                        fair, small});
    }
    for (uint32_t senders : {15u, 256u, 4096u}) {
        std::string ratio = std::to_string(senders);

        list.push_back({"lognormal-" + ratio,
                        ratio + " to 1, log-normal sizes by SEND",
                        [=](const Options &options) {
                            return burst(options, {.senders   = senders,
                                                   .operation = Operation::send,
                                                   .sizes     = Sizes::parameters});
                        },
                        {.goodput = (senders < 64) ? 0 : 0.97},
                        senders <= 256});
    }
    for (uint32_t senders : {15u, 64u, 1024u, 4096u}) {
        std::string ratio = std::to_string(senders);
        Time duration     = (senders >= 1024) ? 200 * millisecond : 20 * millisecond;

        list.push_back({"steady-" + ratio,
                        ratio + " to 1 for ever by WRITE, 64 B messages among it",
                        [=](const Options &options) {
                            return steady(options, {.senders = senders}, duration);
                        },
                        {.goodput = 0.97, .jain = 0.99, .victim = 3},
                        senders <= 64});
    }
    return list;
}

} // namespace be::sim
