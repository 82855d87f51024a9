// SPDX-License-Identifier: BSD-3-Clause
//
// The simulator's agenda: a 4-ary heap of events. Events of the same time come out in the
// order they were put in, so that a run depends on its seed only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace be::sim {

using Time = int64_t; /* picoseconds */

inline constexpr Time nanosecond  = 1'000;
inline constexpr Time microsecond = 1'000'000;
inline constexpr Time millisecond = 1'000'000'000;
inline constexpr Time never       = INT64_MAX;

struct Event {
    Time at;
    uint32_t order; /* of insertion; wraps, which matters between equal times only */
    uint32_t kind;
    uint32_t a;
    uint32_t b;
};

class EventQueue {
public:
    bool empty() const
    {
        return m_heap.empty();
    }

    Time next_time() const
    {
        return m_heap.front().at;
    }

    void push(Time at, uint32_t kind, uint32_t a, uint32_t b)
    {
        Event event{at, m_order++, kind, a, b};
        std::size_t hole = m_heap.size();

        m_heap.push_back(event);
        while (hole != 0) {
            std::size_t parent = (hole - 1) / arity;

            if (!before(event, m_heap[parent])) {
                break;
            }
            m_heap[hole] = m_heap[parent];
            hole         = parent;
        }
        m_heap[hole] = event;
    }

    Event pop()
    {
        Event first      = m_heap.front();
        Event last       = m_heap.back();
        std::size_t hole = 0;

        m_heap.pop_back();

        std::size_t size = m_heap.size();

        if (size == 0) {
            return first;
        }
        for (;;) {
            std::size_t child = arity * hole + 1;

            if (child >= size) {
                break;
            }

            std::size_t least = child;
            std::size_t end   = (child + arity < size) ? child + arity : size;

            for (std::size_t i = child + 1; i < end; ++i) {
                if (before(m_heap[i], m_heap[least])) {
                    least = i;
                }
            }
            if (!before(m_heap[least], last)) {
                break;
            }
            m_heap[hole] = m_heap[least];
            hole         = least;
        }
        m_heap[hole] = last;
        return first;
    }

private:
    static constexpr std::size_t arity = 4;

    static bool before(const Event &x, const Event &y)
    {
        return (x.at != y.at) ? x.at < y.at : static_cast<int32_t>(x.order - y.order) < 0;
    }

    std::vector<Event> m_heap;
    uint32_t m_order = 0;
};

} // namespace be::sim
