// SPDX-License-Identifier: BSD-3-Clause
//
// Data that waits to be sent on one connection: the account of its bytes, and its frames
// between the threads that call Node::data() and the control thread, which sends.
//
// Frames travel together: waking the control thread for each of them takes longer than
// sending it.

#pragma once

#include "control/chunk.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace be::control {

class DataFlow {
public:
    using Batch = std::vector<Chunk>;

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

    // Any thread. A batch that this frame begins, for the control thread; null: it has
    // joined one that is on its way.
    std::shared_ptr<Batch> join(Chunk frame)
    {
        std::lock_guard lock(m_mutex);
        auto begun = m_open ? nullptr : std::make_shared<Batch>();
        if (begun) {
            m_open = begun;
        }
        m_open->push_back(std::move(frame));
        return begun;
    }

    // Any thread: what is about to be posted must not be overtaken by later frames.
    void seal()
    {
        std::lock_guard lock(m_mutex);
        m_open.reset();
    }

    // Control thread: nobody joins that batch any more.
    Batch take(const std::shared_ptr<Batch> &batch)
    {
        std::lock_guard lock(m_mutex);
        if (m_open == batch) {
            m_open.reset();
        }
        return std::move(*batch);
    }

private:
    const std::size_t m_limit;
    std::atomic<std::size_t> m_waiting{0};
    std::atomic<bool> m_somebody_waits{false};
    std::mutex m_mutex;
    std::shared_ptr<Batch> m_open;
};

} // namespace be::control
