// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_ucp_verify: what UCP moves over the transport under test is compared, byte for byte, in both
 * directions at once.
 *
 *   be_ucp_verify [--sleep] [--max-size BYTES] [--only PREFIX] [--devices A,B]
 *
 * --sleep waits on the workers' event descriptors; --only runs the cases whose names start so;
 * --devices gives the two processes different UCX_NET_DEVICES. Transports come from UCX_TLS.
 */
#include "verify.hpp"

#include "lib/process.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace be::test {

namespace {

/* One byte to 64 MiB, around the 8 KiB segment. */
constexpr std::array<std::size_t, 9> SIZES = {1,    8,     1024,    8191,    8192,
                                              8193, 65536, 1 << 20, 64 << 20};

/* Seconds for all cases of one group; a single wait ends long before. */
constexpr double GROUP_SECONDS = 400;

struct Arguments {
    bool sleep           = false;
    std::size_t max_size = SIZES.back();
    std::string only{};
    std::array<std::string, 2> devices{};
};

Arguments parse(int argc, char **argv)
{
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const bool has_value          = i + 1 < argc;
        if (option == "--sleep") {
            arguments.sleep = true;
        } else if (option == "--max-size" && has_value) {
            arguments.max_size = std::strtoull(argv[++i], nullptr, 0);
        } else if (option == "--only" && has_value) {
            arguments.only = argv[++i];
        } else if (option == "--devices" && has_value) {
            const std::string pair  = argv[++i];
            const std::size_t comma = pair.find(',');
            arguments.devices       = {pair.substr(0, comma), pair.substr(comma + 1)};
        } else {
            std::fprintf(stderr,
                         "be_ucp_verify: %s: expected [--sleep] [--max-size BYTES] "
                         "[--only PREFIX] [--devices A,B]\n",
                         argv[i]);
            std::exit(2);
        }
    }
    return arguments;
}

bool wanted(const Case &entry, const Arguments &arguments)
{
    return std::string_view(entry.name).substr(0, arguments.only.size()) ==
           arguments.only;
}

void run_group(Side &side, std::span<const Case> cases, const Arguments &arguments)
{
    NodeOptions options;
    options.sleep       = arguments.sleep;
    options.net_devices = arguments.devices[static_cast<std::size_t>(side.rank)];
    Node node(side.channel, options);
    node.connect();
    std::uint64_t seed = 1000;
    for (const Case &entry : cases) {
        for (const std::size_t size : SIZES) {
            seed += 2000;
            if (!wanted(entry, arguments) || size < entry.least || size > entry.most ||
                size > arguments.max_size) {
                continue;
            }
            if (side.rank == 0) {
                side.report.begin(std::string(entry.name) + "/" + std::to_string(size) +
                                  (arguments.sleep ? "/sleep" : ""));
            }
            const auto rank = static_cast<std::uint64_t>(side.rank);
            Trial trial{node, size, seed + rank * 100000, seed + (1 - rank) * 100000,
                        arguments.sleep};
            entry.body(trial);
            node.barrier("the end of the case");
            if (side.rank == 0) {
                side.report.pass();
            }
        }
    }
    node.disconnect();
}

} // namespace

std::vector<ucp_dt_iov_t> split(void *data, std::size_t length)
{
    std::vector<ucp_dt_iov_t> entries;
    auto *bytes = static_cast<char *>(data);
    for (const std::size_t part :
         {std::size_t{1}, std::size_t{3}, length / 3, length / 2}) {
        const std::size_t count = std::min(part, length);
        if (count > 0) {
            entries.push_back({bytes, count});
            bytes += count;
            length -= count;
        }
    }
    if (length > 0) {
        entries.push_back({bytes, length});
    }
    return entries;
}

} // namespace be::test

int main(int argc, char **argv)
{
    using namespace be::test;
    const Arguments arguments = parse(argc, argv);
    Report report;
    for (const auto &cases :
         {tag_cases(), am_cases(), stream_cases(), rma_cases(), atomic_cases()}) {
        bool any = false;
        for (const Case &entry : cases) {
            any = any || wanted(entry, arguments);
        }
        if (any) {
            run_pair(report, std::string(cases.front().name) + "/start",
                     {.seconds = GROUP_SECONDS},
                     [&](Side &side) { run_group(side, cases, arguments); });
        }
    }
    return report.finish();
}
