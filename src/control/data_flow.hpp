// SPDX-License-Identifier: BSD-3-Clause
//
// Data that waits to be sent on one connection: the account of its bytes, and its frames
// between the threads that call Node::data() and the control thread, which sends.
//
// Frames travel together: waking the control thread for each of them takes longer than
// sending it. Who has the control thread's turn sends a large frame from where it is, with
// those that wait before it. What the socket does not take of it is copied, and until that has
// gone nothing more is taken: it would be copied as well.

#pragma once

#include "control/chunk.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <iterator>
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
        if (!m_is_cut.load() && (m_waiting.load() <= m_limit)) {
            return true;
        }

        // Sequentially consistent, as in drained(): either this sees what that has
        // taken away, or that sees that somebody waits.
        m_somebody_waits.store(true);
        return !m_is_cut.load() && (m_waiting.load() <= m_limit / 2);
    }

    // Any thread, after is_open() has returned true.
    void add(std::size_t bytes) noexcept
    {
        m_waiting.fetch_add(bytes);
    }

    // Control thread: bytes of a frame of which others have been written.
    void add_rest(std::size_t bytes) noexcept
    {
        m_is_cut.store(true);
        add(bytes);
    }

    // Control thread: they wait no longer. True when who was told to wait need not
    // any more.
    bool drained(std::size_t bytes) noexcept
    {
        auto left = m_waiting.fetch_sub(bytes) - bytes;
        if (left == 0) {
            m_is_cut.store(false);
        }
        return !m_is_cut.load() && (left <= m_limit / 2) &&
               m_somebody_waits.exchange(false);
    }

    // Any thread. A batch that this frame begins, for the control thread; null: it has
    // joined one that is on its way.
    std::shared_ptr<Batch> join(Chunk frame)
    {
        std::lock_guard lock(m_mutex);
        auto begun = m_open ? nullptr : std::make_shared<Batch>();
        if (begun) {
            m_open = begun;
            ++m_posted;
        }
        m_open->push_back(std::move(frame));
        return begun;
    }

    // Any thread: what is about to be posted to the control thread must not be overtaken
    // by later frames.
    void post()
    {
        std::lock_guard lock(m_mutex);
        m_open.reset();
        ++m_posted;
    }

    // Control thread: it has arrived.
    void arrived()
    {
        std::lock_guard lock(m_mutex);
        --m_posted;
    }

    // Control thread: puts the frames that wait at the end of `out`, unless they are more than
    // `most` or are not all that is on its way to the control thread; then false.
    bool take_waiting(std::deque<Chunk> &out, std::size_t most)
    {
        std::lock_guard lock(m_mutex);
        if (m_posted != (m_open ? 1 : 0) || (m_open && (m_open->size() > most))) {
            return false;
        }
        if (m_open) {
            std::move(m_open->begin(), m_open->end(), std::back_inserter(out));
            m_open->clear();
            m_open.reset();
            m_posted = 0;
        }
        return true;
    }

    // Control thread: nobody joins that batch any more, which has arrived. It may be empty.
    Batch take(const std::shared_ptr<Batch> &batch)
    {
        std::lock_guard lock(m_mutex);
        if (m_open == batch) {
            m_open.reset();
        }
        if (!batch->empty()) { // see take_waiting()
            --m_posted;
        }
        return std::move(*batch);
    }

private:
    const std::size_t m_limit;
    std::atomic<std::size_t> m_waiting{0};
    std::atomic<bool> m_is_cut{false}; // some of those are the rest of a frame
    std::atomic<bool> m_somebody_waits{false};
    std::mutex m_mutex;
    std::shared_ptr<Batch> m_open;
    std::size_t m_posted = 0; // batches and others, on their way to the control thread
};

} // namespace be::control
