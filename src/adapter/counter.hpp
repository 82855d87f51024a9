// SPDX-License-Identifier: BSD-3-Clause
//
// A number that one thread at a time changes, as it has a lock, and that any thread reads.
// Unlike with std::atomic's own operators, changing it takes no locked instruction.
#pragma once

#include <atomic>
#include <cstdint>

namespace be::adapter {

template<class T>
class Counter {
public:
    void add(T number = 1) noexcept
    {
        m_value.store(m_value.load(std::memory_order_relaxed) + number,
                      std::memory_order_relaxed);
    }

    void subtract(T number = 1) noexcept
    {
        m_value.store(m_value.load(std::memory_order_relaxed) - number,
                      std::memory_order_relaxed);
    }

    operator T() const noexcept
    {
        return m_value.load(std::memory_order_relaxed);
    }

private:
    std::atomic<T> m_value{0};
};

} // namespace be::adapter
