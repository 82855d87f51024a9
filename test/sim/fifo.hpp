// SPDX-License-Identifier: BSD-3-Clause
//
// A queue in a ring that doubles when it is full: small when empty, unlike std::deque.

#pragma once

#include <cstddef>
#include <vector>

namespace be::sim {

template<class T>
class Fifo {
public:
    bool empty() const
    {
        return m_size == 0;
    }

    std::size_t size() const
    {
        return m_size;
    }

    T &front()
    {
        return m_ring[m_head];
    }

    /* The one that is `index` behind the first. */
    T &operator[](std::size_t index)
    {
        return m_ring[(m_head + index) & (m_ring.size() - 1)];
    }

    void push(const T &value)
    {
        if (m_size == m_ring.size()) {
            grow();
        }
        m_ring[(m_head + m_size++) & (m_ring.size() - 1)] = value;
    }

    T pop()
    {
        T value = m_ring[m_head];

        m_head = (m_head + 1) & (m_ring.size() - 1);
        --m_size;
        return value;
    }

private:
    void grow()
    {
        std::vector<T> ring(m_ring.empty() ? 4 : 2 * m_ring.size());

        for (std::size_t i = 0; i < m_size; ++i) {
            ring[i] = (*this)[i];
        }
        m_ring.swap(ring);
        m_head = 0;
    }

    std::vector<T> m_ring;
    std::size_t m_head = 0;
    std::size_t m_size = 0;
};

} // namespace be::sim
