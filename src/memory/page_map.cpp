// SPDX-License-Identifier: BSD-3-Clause
#include "memory/page_map.hpp"

#include <iterator>

namespace be::memory {

PageMap::PageMap(uint32_t pages) : m_pages(pages)
{
    add(0, pages);
}

void PageMap::add(uint32_t first, uint32_t pages)
{
    if (pages > 0) {
        m_by_address.emplace(first, pages);
        m_by_size.emplace(pages, first);
        m_free_pages += pages;
    }
}

PageMap::ByAddress::iterator PageMap::remove(ByAddress::iterator run)
{
    m_free_pages -= run->second;
    m_by_size.erase({run->second, run->first});
    return m_by_address.erase(run);
}

PageMap::BySize::const_iterator PageMap::find(uint32_t pages, uint32_t align) const
{
    auto run = m_by_size.lower_bound({pages, 0});
    while ((run != m_by_size.end()) &&
           ((-run->second & (align - 1)) > run->first - pages)) {
        ++run;
    }
    return run;
}

std::optional<uint32_t> PageMap::best_fit(uint32_t pages, uint32_t align) const
{
    const auto run = find(pages, align);
    return (run != m_by_size.end()) ? std::optional<uint32_t>(run->first) : std::nullopt;
}

std::optional<uint32_t> PageMap::allocate(uint32_t pages, uint32_t align)
{
    const auto run = find(pages, align);
    if (run == m_by_size.end()) {
        return std::nullopt;
    }
    const auto [run_pages, run_first] = *run;
    const uint32_t front              = -run_first & (align - 1);
    remove(m_by_address.find(run_first));
    add(run_first, front);
    add(run_first + front + pages, run_pages - front - pages);
    return run_first + front;
}

void PageMap::free(uint32_t first, uint32_t pages)
{
    auto next = m_by_address.lower_bound(first);
    if ((next != m_by_address.end()) && (next->first == first + pages)) {
        pages += next->second;
        next = remove(next);
    }
    if (next != m_by_address.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == first) {
            first = before->first;
            pages += before->second;
            remove(before);
        }
    }
    add(first, pages);
}

} // namespace be::memory
