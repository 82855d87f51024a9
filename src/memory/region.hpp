// SPDX-License-Identifier: BSD-3-Clause
//
// One mapping of anonymous memory: what arenas are made of.
//
// Pages: 1 GiB pages for whole multiples of them, and 2 MiB pages for all, when the system
// has enough free ones; else transparent huge pages are asked for, else ordinary pages.
// Placement: on a NUMA node when one is asked for (on others only when that one is full),
// through hwloc, whose topology is loaded, once a process, only then: it costs
// milliseconds. A machine that cannot do it gives memory from anywhere.
// note() says what was wished for and not given.
//
// Base and length are multiples of region_unit, whichever pages are behind.
// Threads: a region belongs to its owner; map() may run in any thread.
#pragma once

#include <cstddef>
#include <string>

namespace be::memory {

class RegionSystem;

inline constexpr size_t region_unit = size_t{2} << 20; // bytes: one x86-64 huge page

enum class Pages {
    giant,
    huge,
    transparent,
    ordinary
};
const char *to_string(Pages pages);

struct RegionOptions {
    static constexpr int any_node    = -1; // wherever the kernel puts it
    static constexpr int thread_node = -2; // that of the calling thread

    int numa_node   = any_node; // or the OS index of one
    bool huge_pages = true; // false: ordinary pages only
    bool prefault   = false; // touch every page now, so that no fault comes later
};

class Region {
public:
    Region() = default; // empty

    // `length` is rounded up to region_unit. Throws std::system_error that names the
    // length.
    static Region map(size_t length, const RegionOptions &options = {});
    // From another system than this one, for tests.
    static Region map(size_t length, const RegionOptions &options, RegionSystem &system);

    Region(Region &&other) noexcept;
    Region &operator=(Region &&other) noexcept;
    ~Region();

    void *data() const noexcept
    {
        return m_data;
    }

    size_t length() const noexcept
    {
        return m_length;
    }

    Pages pages() const noexcept
    {
        return m_pages;
    }

    // Empty, or why huge pages or the NUMA node could not be had.
    const std::string &note() const noexcept
    {
        return m_note;
    }

private:
    void unmap() noexcept;

    void *m_data    = nullptr;
    size_t m_length = 0;
    Pages m_pages   = Pages::ordinary;
    std::string m_note;
};

} // namespace be::memory
