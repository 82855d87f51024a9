// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include "memory/numa.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

// Kernel 5.14; not in every C library's headers.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

namespace be::memory {
namespace {

constexpr int protection = PROT_READ | PROT_WRITE;
constexpr int flags      = MAP_PRIVATE | MAP_ANONYMOUS;

void append(std::string &note, const std::string &text)
{
    note += ((note.empty() || text.empty()) ? "" : "; ") + text;
}

// 0, or the errno value of memory that cannot be had. Kernels without the call do it page
// by page, where that can be survived.
int populate(void *data, size_t length, bool huge)
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

void bind(void *data, size_t length, int node, std::string &note)
{
    if (node == RegionOptions::thread_node) {
        node = current_node();
    }
    if (node >= 0) {
        append(note, bind_to_node(data, length, node));
    }
}

// Null: no huge pages, `note` says why. A page reserved by mmap may still be missing on
// the node or in the memory group of this process, and touching it would be fatal: so all
// are touched here, through the kernel.
void *map_huge(size_t length, const RegionOptions &options, std::string &note)
{
    void *data = mmap(nullptr, length, protection, flags | MAP_HUGETLB | MAP_HUGE_2MB, -1,
                      0);
    if (data == MAP_FAILED) {
        note = std::string("no 2 MiB pages: ") + strerror(errno) +
               " (reserve some in vm.nr_hugepages)";
        return nullptr;
    }

    std::string bind_note;
    bind(data, length, options.numa_node, bind_note);
    const int error = populate(data, length, true);
    if (error != 0) {
        munmap(data, length);
        note = std::string("no 2 MiB pages on this node or in this memory group: ") +
               strerror(error);
        return nullptr;
    }
    append(note, bind_note);
    return data;
}

// Ordinary pages at a multiple of region_unit. Null: errno tells why.
void *map_aligned(size_t length)
{
    if (length > SIZE_MAX - region_unit) {
        errno = ENOMEM;
        return nullptr;
    }
    void *mapping = mmap(nullptr, length + region_unit, protection, flags, -1, 0);
    if (mapping == MAP_FAILED) {
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

// madvise() succeeds also where the administrator switched them off.
bool transparent_pages_enabled()
{
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(file, line) && (line.find("[never]") == std::string::npos);
}

} // namespace

const char *to_string(Pages pages)
{
    switch (pages) {
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
    if ((length == 0) || (length > SIZE_MAX - region_unit)) {
        throw std::system_error(EINVAL, std::generic_category(),
                                "mapping " + std::to_string(length) + " bytes");
    }

    Region region;
    region.m_length = (length + region_unit - 1) / region_unit * region_unit;
    if (options.huge_pages) {
        region.m_data  = map_huge(region.m_length, options, region.m_note);
        region.m_pages = Pages::huge;
        if (region.m_data != nullptr) {
            return region;
        }
    }

    region.m_pages = Pages::ordinary;
    region.m_data  = map_aligned(region.m_length);
    if (region.m_data == nullptr) {
        throw std::system_error(errno, std::generic_category(),
                                "mapping " + std::to_string(region.m_length) + " bytes");
    }
    if (options.huge_pages) {
        if (transparent_pages_enabled() &&
            (madvise(region.m_data, region.m_length, MADV_HUGEPAGE) == 0)) {
            region.m_pages = Pages::transparent;
        } else {
            append(region.m_note, "transparent huge pages are switched off");
        }
    } else {
        madvise(region.m_data, region.m_length,
                MADV_NOHUGEPAGE); // a wish: nothing depends on it
    }

    bind(region.m_data, region.m_length, options.numa_node, region.m_note);
    if (options.prefault) {
        const int error = populate(region.m_data, region.m_length, false);
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
