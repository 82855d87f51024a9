// SPDX-License-Identifier: BSD-3-Clause
//
// The grants of a byte pool that have not arrived: in order for each channel, and those
// not yet found late in order of their due times over all channels.
//
// Storage is fixed: as many grants as the pool has units, since each is of one at least.
// All calls are O(1); only the constructor and resize() allocate.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/invariant.hpp"

namespace be::core {

class GrantLog {
public:
    static constexpr uint32_t none = ~uint32_t{0};

    struct Grant {
        uint64_t due_ns   = 0; /* when it should have arrived at the latest */
        uint64_t given_ns = 0;
        uint32_t total    = 0; /* of the channel, with this grant */
        uint32_t channel  = 0;
        uint32_t next     = none; /* of the channel, or of the free list */
        uint32_t older    = none; /* over all channels */
        uint32_t newer    = none;
        bool probe        = false; /* its loop tells the path's */
        bool waiting      = false; /* in the list over all channels */
    };

    explicit GrantLog(uint32_t capacity) : m_grants(capacity)
    {
        for (uint32_t i = 0; i < capacity; ++i) {
            m_grants[i].next = (i + 1 < capacity) ? i + 1 : none;
        }
        m_free = (capacity != 0) ? 0 : none;
    }

    void resize(std::size_t channels)
    {
        m_channels.resize(channels);
    }

    bool empty(uint32_t channel) const
    {
        return m_channels[channel].first == none;
    }

    const Grant &front(uint32_t channel) const
    {
        return m_grants[m_channels[channel].first];
    }

    void
    add(uint32_t channel, uint32_t total, uint64_t due_ns, uint64_t now_ns, bool probe)
    {
        uint32_t index = m_free;

        BE_CORE_INVARIANT(index != none);
        m_free                                                   = m_grants[index].next;
        m_grants[index]                                          = {.due_ns   = due_ns,
                                                                    .given_ns = now_ns,
                                                                    .total    = total,
                                                                    .channel  = channel,
                                                                    .next     = none,
                                                                    .older    = m_newest,
                                                                    .newer    = none,
                                                                    .probe    = probe,
                                                                    .waiting  = true};
        (m_newest == none ? m_oldest : m_grants[m_newest].newer) = index;
        m_newest                                                 = index;

        Channel &queue = m_channels[channel];
        (queue.first == none ? queue.first : m_grants[queue.last].next) = index;
        queue.last                                                      = index;
    }

    void pop(uint32_t channel)
    {
        Channel &queue = m_channels[channel];
        uint32_t index = queue.first;

        stop_waiting(index);
        queue.first          = m_grants[index].next;
        m_grants[index].next = m_free;
        m_free               = index;
    }

    /* The one that is due first, of those not taken; null. */
    const Grant *first_due() const
    {
        return (m_oldest == none) ? nullptr : &m_grants[m_oldest];
    }

    /* Takes it: it stays in its channel only. */
    void take_first_due()
    {
        stop_waiting(m_oldest);
    }

private:
    struct Channel {
        uint32_t first = none;
        uint32_t last  = none;
    };

    void stop_waiting(uint32_t index)
    {
        Grant &grant = m_grants[index];

        if (grant.waiting) {
            (grant.older == none ? m_oldest : m_grants[grant.older].newer) = grant.newer;
            (grant.newer == none ? m_newest : m_grants[grant.newer].older) = grant.older;
            grant.waiting                                                  = false;
        }
    }

    std::vector<Grant> m_grants;
    std::vector<Channel> m_channels;
    uint32_t m_free   = none;
    uint32_t m_oldest = none;
    uint32_t m_newest = none;
};

} // namespace be::core
