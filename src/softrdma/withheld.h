// SPDX-License-Identifier: BSD-3-Clause
//
// Completions that can be polled only some time after they were first seen in the ring (the fault
// completion-delay). Positions are those of the ring, and wrap.
//
// Thread rules: one caller at a time.
#pragma once

#include <cstdint>
#include <deque>

namespace softrdma {

class withheld_completions {
public:
    // Entries before `tail` are in the ring at this time; what is new may be polled at `due`. True when
    // something was new.
    bool note(uint32_t head, uint32_t tail, uint64_t due)
    {
        forget(head);
        uint32_t known = m_batches.empty() ? head : m_batches.back().tail;
        if (static_cast<int32_t>(tail - known) <= 0) {
            return false;
        }
        m_batches.push_back({tail, due});
        return true;
    }

    // Entries before `tail` may be polled from now on, and are known.
    void release(uint32_t tail)
    {
        m_batches.assign(1, {tail, 0});
    }

    // When the entry at `head` may be polled; 0 for one that was never noted.
    uint64_t due(uint32_t head)
    {
        forget(head);
        return m_batches.empty() ? 0 : m_batches.front().due;
    }

private:
    struct batch {
        uint32_t tail;
        uint64_t due;
    };

    void forget(uint32_t head)
    {
        while (!m_batches.empty() &&
               (static_cast<int32_t>(m_batches.front().tail - head) <= 0)) {
            m_batches.pop_front();
        }
    }

    std::deque<batch> m_batches;
};

} // namespace softrdma
