// SPDX-License-Identifier: BSD-3-Clause
//
// Free runs of pages of one region: best fit, joined with their neighbours when freed.
//
// Pages are numbered from 0. O(log runs), except that an alignment above one page may
// look at several runs.
// Threads: the owner's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace be::memory {

inline constexpr size_t page_size =
        4096; // bytes: the unit of runs, whatever pages the system has

class PageMap {
public:
    explicit PageMap(uint32_t pages);

    // First page of a run of `pages` whose number is a multiple of `align` (a power of
    // two).
    std::optional<uint32_t> allocate(uint32_t pages, uint32_t align);

    // The pages of the run that allocate() would cut; none: it would fail.
    std::optional<uint32_t> best_fit(uint32_t pages, uint32_t align) const;

    // A run that allocate() gave, whole.
    void free(uint32_t first, uint32_t pages);

    uint32_t free_pages() const
    {
        return m_free_pages;
    }

    bool all_free() const
    {
        return m_free_pages == m_pages;
    }

private:
    using ByAddress = std::map<uint32_t, uint32_t>; // first page -> pages
    using BySize    = std::set<std::pair<uint32_t, uint32_t>>; // pages, first page

    BySize::const_iterator find(uint32_t pages, uint32_t align) const;
    void add(uint32_t first, uint32_t pages);
    ByAddress::iterator remove(ByAddress::iterator run);

    uint32_t m_pages;
    uint32_t m_free_pages = 0;
    ByAddress m_by_address;
    BySize m_by_size;
};

} // namespace be::memory
