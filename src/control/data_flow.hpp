// SPDX-License-Identifier: BSD-3-Clause
//
// How many bytes of data wait to be sent on one connection: the account between the
// threads that call Node::data() and the control thread, which sends.

#pragma once

#include <atomic>
#include <cstddef>

namespace be::control {

class DataFlow {
public:
    explicit DataFlow(std::size_t limit) : m_limit(limit)
    {
    }

    // Any thread. False when more than the limit waits; then drained() will return
    // true.
    bool is_open() noexcept
    {
        if (m_waiting.load() <= m_limit) {
            return true;
        }

        // Sequentially consistent, as in drained(): either this sees what that has
        // taken away, or that sees that somebody waits.
        m_somebody_waits.store(true);
        return m_waiting.load() <= m_limit / 2;
    }

    // Any thread, after is_open() has returned true.
    void add(std::size_t bytes) noexcept
    {
        m_waiting.fetch_add(bytes);
    }

    // Control thread: they wait no longer. True when who was told to wait need not
    // any more.
    bool drained(std::size_t bytes) noexcept
    {
        auto left = m_waiting.fetch_sub(bytes) - bytes;
        return (left <= m_limit / 2) && m_somebody_waits.exchange(false);
    }

private:
    const std::size_t m_limit;
    std::atomic<std::size_t> m_waiting{0};
    std::atomic<bool> m_somebody_waits{false};
};

} // namespace be::control
