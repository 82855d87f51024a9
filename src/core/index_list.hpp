// SPDX-License-Identifier: BSD-3-Clause
//
// Doubly linked FIFO over dense indices: every operation is O(1) and none but resize()
// allocates.
//
// An index is in the list at most once. Pushing a member again, or erasing a stranger,
// does nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace be::core {

class IndexList {
public:
    static constexpr uint32_t none = ~uint32_t{0};

    /* Makes indices [0, count) valid; never shrinks. Amortised O(1) for each index added.
     */
    void resize(std::size_t count)
    {
        if (count > m_links.size()) {
            m_links.resize(count);
        }
    }

    bool contains(uint32_t index) const
    {
        return m_links[index].member;
    }

    bool empty() const
    {
        return m_head == none;
    }

    uint32_t size() const
    {
        return m_size;
    }

    /* First member, `none` when empty. */
    uint32_t front() const
    {
        return m_head;
    }

    void push_back(uint32_t index)
    {
        Link &link = m_links[index];

        if (link.member) {
            return;
        }
        link = {.previous = m_tail, .next = none, .member = true};
        (m_tail == none ? m_head : m_links[m_tail].next) = index;
        m_tail                                           = index;
        ++m_size;
    }

    void erase(uint32_t index)
    {
        Link &link = m_links[index];

        if (!link.member) {
            return;
        }
        (link.previous == none ? m_head : m_links[link.previous].next) = link.next;
        (link.next == none ? m_tail : m_links[link.next].previous)     = link.previous;
        link.member                                                    = false;
        --m_size;
    }

    /* Removes and returns the first member; `none` when empty. */
    uint32_t pop_front()
    {
        uint32_t index = m_head;

        if (index != none) {
            erase(index);
        }
        return index;
    }

private:
    struct Link {
        uint32_t previous = none;
        uint32_t next     = none;
        bool member       = false;
    };

    std::vector<Link> m_links;
    uint32_t m_head = none;
    uint32_t m_tail = none;
    uint32_t m_size = 0;
};

} // namespace be::core
