// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/footprint.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <unistd.h>

namespace be::tools {

Footprint read_footprint()
{
    Footprint footprint;
    uint64_t size  = 0;
    uint64_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    if (!(statm >> size >> pages)) {
        throw std::system_error(errno, std::generic_category(), "/proc/self/statm");
    }
    footprint.resident = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const std::filesystem::directory_iterator files("/proc/self/fd");
    // the one that reads the folder is not counted
    footprint.descriptors = static_cast<uint64_t>(
            std::distance(begin(files), end(files)) - 1);
    return footprint;
}

Footprint growth(const Footprint &before, const Footprint &after) noexcept
{
    const auto more = [](uint64_t from, uint64_t to) { return to - std::min(from, to); };
    return {more(before.resident, after.resident),
            more(before.descriptors, after.descriptors)};
}

} // namespace be::tools
