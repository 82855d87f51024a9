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

std::optional<uint32_t> PageMap::allocate(uint32_t pages, uint32_t align)
{
    for (auto run = m_by_size.lower_bound({pages, 0}); run != m_by_size.end(); ++run) {
        const auto [run_pages, run_first] = *run;
        const uint32_t front              = -run_first & (align - 1);
        if (front <= run_pages - pages) {
            remove(m_by_address.find(run_first));
            add(run_first, front);
            add(run_first + front + pages, run_pages - front - pages);
            return run_first + front;
        }
    }
    return std::nullopt;
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
