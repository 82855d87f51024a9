// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region_system.hpp"

#include "memory/memory_group.hpp"
#include "memory/numa.hpp"
#include "memory/region.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

// Kernel 5.14; not in every C library's headers.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace be::memory {

RegionSystem &RegionSystem::instance()
{
    static auto *const system = new RegionSystem; // memory is also mapped at exit
    return *system;
}

void *RegionSystem::map(size_t length, int flags)
{
    void *data = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return (data != MAP_FAILED) ? data : nullptr;
}

std::string RegionSystem::refuse(size_t length)
{
    return beyond_group(length, memory_group_room());
}

// Kernels without the call do it page by page, where that can be survived.
int RegionSystem::populate(void *data, size_t length, bool huge)
{
    if (madvise(data, length, MADV_POPULATE_WRITE) == 0) {
        return 0;
    }
    if (errno != EINVAL) {
        return errno;
    }
    if (!huge) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        for (size_t offset = 0; offset < length; offset += page) {
            static_cast<volatile char *>(data)[offset] = 0;
        }
    }
    return 0;
}

bool RegionSystem::transparent_pages(void *data, size_t length, bool wanted)
{
    if (!wanted) {
        madvise(data, length, MADV_NOHUGEPAGE); // nothing depends on it
        return false;
    }
    // madvise() succeeds also where the administrator switched them off.
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(file, line) && (line.find("[never]") == std::string::npos) &&
           (madvise(data, length, MADV_HUGEPAGE) == 0);
}

std::string RegionSystem::bind(void *data, size_t length, int wish)
{
    if (wish == RegionOptions::any_node) {
        return {}; // without loading the topology
    }
    const NumaTopology &topology = NumaTopology::machine();
    return topology.bind(data, length, topology.choose(wish, sched_getcpu()));
}

} // namespace be::memory
