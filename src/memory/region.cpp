// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include "memory/region_system.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

// Not in every C library's headers.
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif
#ifndef MAP_HUGE_1GB
#define MAP_HUGE_1GB (30 << 26)
#endif

namespace be::memory {
namespace {

struct HugePages {
    Pages pages;
    size_t size; // bytes
    int flag; // of mmap()
    const char *setting; // how many there are
};

// In the order in which they are tried.
constexpr HugePages huge_pages[] = {
        {Pages::giant, size_t{1} << 30, MAP_HUGE_1GB,
         "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"},
        {Pages::huge, region_unit, MAP_HUGE_2MB, "vm.nr_hugepages"},
};

void append(std::string &note, const std::string &text)
{
    note += ((note.empty() || text.empty()) ? "" : "; ") + text;
}

// Null: no such pages, `note` says why. A page reserved by mmap may still be missing on
// the node or in the memory group of this process, and touching it would be fatal: so all
// are touched here, through the kernel.
void *map_huge(RegionSystem &system, const HugePages &kind, size_t length, int node,
               std::string &note)
{
    const std::string refused = std::string("no ") + to_string(kind.pages);
    void *data                = system.map(length, MAP_HUGETLB | kind.flag);
    if (data == nullptr) {
        append(note, refused + ": " + strerror(errno) + " (reserve some in " +
                             kind.setting + ")");
        return nullptr;
    }

    const std::string bind_note = system.bind(data, length, node);
    const int error             = system.populate(data, length, true);
    if (error != 0) {
        munmap(data, length);
        append(note,
               refused + " on this node or in this memory group: " + strerror(error));
        return nullptr;
    }
    append(note, bind_note);
    return data;
}

// Ordinary pages at a multiple of region_unit. Null: errno tells why.
void *map_aligned(RegionSystem &system, size_t length)
{
    if (length > SIZE_MAX - region_unit) {
        errno = ENOMEM;
        return nullptr;
    }
    void *mapping = system.map(length + region_unit, 0);
    if (mapping == nullptr) {
        return nullptr;
    }

    char *begin        = static_cast<char *>(mapping);
    const size_t phase = reinterpret_cast<uintptr_t>(begin) % region_unit;
    const size_t front = (phase == 0) ? 0 : region_unit - phase;
    if (front > 0) {
        munmap(begin, front);
    }
    munmap(begin + front + length, region_unit - front);
    return begin + front;
}

} // namespace

const char *to_string(Pages pages)
{
    switch (pages) {
    case Pages::giant:
        return "1 GiB pages";
    case Pages::huge:
        return "2 MiB pages";
    case Pages::transparent:
        return "transparent huge pages";
    default:
        return "ordinary pages";
    }
}

Region Region::map(size_t length, const RegionOptions &options)
{
    return map(length, options, RegionSystem::instance());
}

Region Region::map(size_t length, const RegionOptions &options, RegionSystem &system)
{
    if ((length == 0) || (length > SIZE_MAX - region_unit)) {
        throw std::system_error(EINVAL, std::generic_category(),
                                "mapping " + std::to_string(length) + " bytes");
    }

    Region region;
    region.m_length = (length + region_unit - 1) / region_unit * region_unit;
    for (const HugePages &kind : huge_pages) {
        if (options.huge_pages && (region.m_length % kind.size == 0)) {
            region.m_data  = map_huge(system, kind, region.m_length, options.numa_node,
                                      region.m_note);
            region.m_pages = kind.pages;
            if (region.m_data != nullptr) {
                return region;
            }
        }
    }

    // Huge pages are set aside, and counted elsewhere.
    const std::string refused = system.refuse(region.m_length);
    if (!refused.empty()) {
        throw std::system_error(ENOMEM, std::generic_category(),
                                "mapping " + std::to_string(region.m_length) +
                                        " bytes: " + refused);
    }
    region.m_pages = Pages::ordinary;
    region.m_data  = map_aligned(system, region.m_length);
    if (region.m_data == nullptr) {
        throw std::system_error(errno, std::generic_category(),
                                "mapping " + std::to_string(region.m_length) + " bytes");
    }
    if (system.transparent_pages(region.m_data, region.m_length, options.huge_pages)) {
        region.m_pages = Pages::transparent;
    } else if (options.huge_pages) {
        append(region.m_note, "transparent huge pages are switched off");
    }

    append(region.m_note, system.bind(region.m_data, region.m_length, options.numa_node));
    if (options.prefault) {
        const int error = system.populate(region.m_data, region.m_length, false);
        if (error != 0) {
            throw std::system_error(error, std::generic_category(),
                                    "touching " + std::to_string(region.m_length) +
                                            " bytes");
        }
    }
    return region;
}

Region::Region(Region &&other) noexcept :
    m_data(std::exchange(other.m_data, nullptr)),
    m_length(std::exchange(other.m_length, 0)),
    m_pages(other.m_pages),
    m_note(std::move(other.m_note))
{
}

Region &Region::operator=(Region &&other) noexcept
{
    if (this != &other) {
        unmap();
        m_data   = std::exchange(other.m_data, nullptr);
        m_length = std::exchange(other.m_length, 0);
        m_pages  = other.m_pages;
        m_note   = std::move(other.m_note);
    }
    return *this;
}

Region::~Region()
{
    unmap();
}

void Region::unmap() noexcept
{
    if (m_data != nullptr) {
        munmap(m_data, m_length);
    }
}

} // namespace be::memory
