// SPDX-License-Identifier: BSD-3-Clause
//
// What the owner of a receive queue tells those who send to it, so that a small message can be delivered
// without a look at its receive, which would cost a cache line of the owner's: each receive that is posted
// has room for so many bytes in memory that is registered.
//
// Published are a number of bytes and the memory epoch it holds for. The number only falls while the epoch
// stays. Regions that go away begin a new epoch: from then on, senders look closer, until the last receive
// posted before has been claimed and the owner vouches again.
//
// Thread rules: under the lock of the receive queue that posts.
#pragma once

#include "layout.h"

#include <algorithm>

namespace softrdma {

class vouching {
public:
    // For a queue without receives.
    void start(rq_shared &queue, uint32_t epoch)
    {
        m_epoch   = epoch;
        m_bytes   = UINT32_MAX;
        m_settled = true;
        publish(queue);
    }

    // Before a receive becomes visible at position `tail`; `bytes`: how many of it are usable memory, as found
    // in `epoch`.
    void add(rq_shared &queue, uint32_t tail, uint32_t bytes, uint32_t epoch)
    {
        if (epoch != m_epoch) {
            m_epoch   = epoch;
            m_bytes   = UINT32_MAX;
            m_from    = tail;
            m_settled = false;
        }
        if (m_settled && (bytes >= m_bytes)) [[likely]] {
            return;
        }
        m_bytes = std::min(m_bytes, bytes);
        // The claimers' line is only looked at now and then.
        if (!m_settled && ((tail - m_from) % look_every == 0)) {
            uint32_t head = queue.head.load(std::memory_order_acquire);
            m_settled     = static_cast<int32_t>(head - m_from) >= 0;
        }
        if (m_settled) {
            publish(queue);
        }
    }

private:
    static constexpr uint32_t look_every = 16; // positions

    // Bytes first: who finds the new epoch finds them, too.
    void publish(rq_shared &queue) const
    {
        queue.vouched.bytes.store(m_bytes, std::memory_order_relaxed);
        queue.vouched.epoch.store(m_epoch, std::memory_order_release);
    }

    uint32_t m_epoch = 0;
    uint32_t m_bytes = 0;
    uint32_t m_from  = 0; // receives before this position are not covered
    bool m_settled   = false; // there are none of those
};

} // namespace softrdma
