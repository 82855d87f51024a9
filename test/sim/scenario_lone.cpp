// SPDX-License-Identifier: BSD-3-Clause
//
// One transfer and nothing else: what flow control adds where nothing is in the way.

#include "scenario.hpp"

#include <cstdio>
#include <string>

namespace be::sim {

namespace {

constexpr int load = 1;

Result lone(const Options &options, int64_t bytes, Operation operation, uint32_t idle)
{
    World world(world_config(options, (idle > 60) ? 512 : 64));
    Meter meter(world);
    Link link    = world.connect(world.hosts() - 1, 0);
    bool ended   = true;
    double first = 0;

    for (uint32_t i = 0; i < idle; ++i) {
        world.connect(1 + i % (world.hosts() - 1), 0);
    }
    world.run_until(5 * millisecond);
    meter.begin();
    for (int i = 0; ended && (i < 20); ++i) {
        uint32_t transfer = world.start(link, bytes, operation, load);

        ended = world.run_to_end(world.now() + 100 * millisecond);
        if (i == 0) {
            first = static_cast<double>(world.transfers()[transfer].end -
                                        world.transfers()[transfer].start) /
                    microsecond;
        }
        world.run_until(world.now() + 30 * microsecond);
    }

    Result result = meter.result(load);
    char note[64];

    std::snprintf(note, sizeof(note), "the first took %.2f us", first);
    result.finished = ended;
    result.note     = note;
    return result;
}

} // namespace

std::vector<Scenario> lone_scenarios()
{
    std::vector<Scenario> list;
    struct Size {
        const char *name;
        int64_t bytes;
    };

    for (const Size &size : {Size{"8", 8}, Size{"4k", 4096}, Size{"1m", 1 << 20}}) {
        for (Operation operation : {Operation::send, Operation::write, Operation::read}) {
            const char *verb = (operation == Operation::send)  ? "send" :
                               (operation == Operation::write) ? "write" :
                                                                 "read";

            list.push_back({std::string("lone-") + size.name + "-" + verb,
                            std::string("one ") + verb + " of " +
                                    std::to_string(size.bytes) + " B, 15 idle peers",
                            [=](const Options &options) {
                                return lone(options, size.bytes, operation, 15);
                            },
                            {.added = 1.01},
                            true});
        }
    }
    return list;
}

} // namespace be::sim
