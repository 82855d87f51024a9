// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/pause_counters.hpp"

#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace be::tools {

namespace {

bool ask(int fd, const std::string &netdev, void *request)
{
    ifreq query{};
    std::strncpy(query.ifr_name, netdev.c_str(), IFNAMSIZ - 1);
    query.ifr_data = static_cast<char *>(request);
    return ioctl(fd, SIOCETHTOOL, &query) == 0;
}

// How many counters there are. Not ETHTOOL_GSSET_INFO, which has a flexible array at its
// end.
uint32_t count_of(int fd, const std::string &netdev)
{
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    return ask(fd, netdev, &info) ? info.n_stats : 0;
}

std::vector<PortCounter> read_all(int fd, const std::string &netdev)
{
    constexpr uint32_t sane = 100000;
    const uint32_t count    = count_of(fd, netdev);
    std::vector<PortCounter> found;

    if ((count == 0) || (count > sane)) {
        return found;
    }
    // both structures end in an array of `count` entries; u64 for the alignment
    std::vector<uint64_t> names(
            (sizeof(ethtool_gstrings) + size_t{count} * ETH_GSTRING_LEN) /
                    sizeof(uint64_t) +
            1);
    std::vector<uint64_t> values(sizeof(ethtool_stats) / sizeof(uint64_t) + count + 1);
    auto *strings       = reinterpret_cast<ethtool_gstrings *>(names.data());
    auto *stats         = reinterpret_cast<ethtool_stats *>(values.data());
    strings->cmd        = ETHTOOL_GSTRINGS;
    strings->string_set = ETH_SS_STATS;
    strings->len        = count;
    stats->cmd          = ETHTOOL_GSTATS;
    stats->n_stats      = count;
    if (!ask(fd, netdev, strings) || !ask(fd, netdev, stats)) {
        return found;
    }
    const auto *name = reinterpret_cast<const char *>(names.data()) +
                       sizeof(ethtool_gstrings);
    const auto *value = reinterpret_cast<const char *>(values.data()) +
                        sizeof(ethtool_stats);
    for (uint32_t i = 0; i < count; i++, name += ETH_GSTRING_LEN) {
        const std::string text(name, strnlen(name, ETH_GSTRING_LEN));
        uint64_t number = 0;
        std::memcpy(&number, value + i * sizeof(number), sizeof(number));
        if ((number != 0) && (text.find("pause") != std::string::npos)) {
            found.push_back({netdev, text, number});
        }
    }
    return found;
}

} // namespace

std::vector<PortCounter> pause_counters(const std::string &netdev)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return {};
    }
    auto found = read_all(fd, netdev);
    close(fd);
    return found;
}

} // namespace be::tools
